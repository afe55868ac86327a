"""Finding the function that a user means, in the text of a Python file. Nothing is imported or run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from stepagents.torchfn.refusals import NO_FUNCTION, refuse
from stepcore.fn.source import syntax_words
from stepcore.records import Record
from stepcore.text.wording import one_line

HEAD: Final = "A STeP program that computes the same as"  # how the docstrings of delivered Python files begin
_LINES: Final = re.compile(r"(\d+)(?:-(\d+))?")
_MACHINERY: Final = re.compile(r"__\w*__")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
TargetKind = Literal["function", "module", "method"]
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class Argument(Record):
    """One argument of the function; ``annotation`` and ``default`` are nodes of the file's syntax tree."""

    name: str
    annotation: ast.expr | None
    default: ast.expr | None
    line: int
    column: int
    by_name: bool = False


class Target(Record):
    """The function to take: where it stands and how to reach it after an import.

    ``qualifier`` is ``f``, ``Class`` (a module, whose ``forward`` is meant) or ``Class.method``. ``first`` and ``last``
    are the lines of the function itself, counted from 1; ``signature_end`` is the last line of its signature.
    """

    path: str
    text: str
    qualifier: str
    kind: TargetKind
    arguments: tuple[Argument, ...]
    line: int
    column: int
    last: int
    signature_end: int
    docstring: str
    tree: ast.Module
    variadic: bool = False
    positional: bool = False  # some arguments cannot be passed by name
    is_static: bool = False  # a method that needs no object

    @property
    def name(self) -> str:
        """An identifier for the program."""
        return self.qualifier.replace(".", "_")

    @property
    def by_name(self) -> frozenset[str]:
        """The arguments that are passed by their names: all but those of a signature that takes some in order."""
        in_order = self.variadic or self.positional
        return frozenset(item.name for item in self.arguments if item.by_name or not in_order)

    @property
    def above(self) -> int:
        """The first line of the decorators and comments right above the function."""
        lines, first = self.text.splitlines(), self.line
        while first > 1 and lines[first - 2].lstrip().startswith(("#", "@")):
            first -= 1
        return first

    @property
    def class_name(self) -> str:
        """The class whose instance is needed, or nothing."""
        return "" if self.kind == "function" else self.qualifier.partition(".")[0]


class _Place(Record):
    """A function and the names that lead to it from the module."""

    names: tuple[str, ...]
    node: ast.stmt
    function: FunctionNode | None
    owner: ast.ClassDef | None = None


def split_argument(text: str) -> tuple[str, str] | None:
    """Return path and selector of ``FILE.py::NAME``, or None for what is no such argument."""
    path, mark, selector = text.rpartition("::")
    return (path, selector) if mark and path.endswith(".py") else None


def last_name(node: ast.AST | None) -> str:
    """Return ``Float`` for ``jaxtyping.Float`` and for ``Float``; empty for what has no name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def find_target(path: str, text: str, selector: str) -> Target:
    """Return the function that ``selector`` names in the Python file with the content ``text``.

    ``selector`` is a name (``f``, ``Class``, ``Class.method``), a line, or a selection of lines ``12-20``. What stands
    at a line is the innermost function or class there that an import can reach.

    Raises:
        Refused: STEP902 for a file that does not parse, STEP601 where no such function is.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line, column = getattr(error, "lineno", 1) or 1, getattr(error, "offset", 1) or 1
        what = syntax_words(error) if isinstance(error, SyntaxError) else str(error)
        raise refuse("STEP902", f"the file does not parse: {what}", path, line, column) from error
    places = list(_places(tree.body, (), None))
    lines = _LINES.fullmatch(selector)
    found = (
        _at(path, text, places, int(lines[1]), int(lines[2] or lines[1])) if lines else _named(path, places, selector)
    )
    return _target(path, text, tree, found)


def _places(body: Sequence[ast.stmt], names: tuple[str, ...], owner: ast.ClassDef | None) -> Iterator[_Place]:
    for node in body:
        if isinstance(node, _FUNCTIONS):
            yield _Place((*names, node.name), node, node, owner)
        elif isinstance(node, ast.ClassDef) and owner is None:
            yield _Place((*names, node.name), node, None)
            yield from _places(node.body, (*names, node.name), node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Lambda):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (
                _Place((*names, target.id), node, node.value, owner)
                for target in targets
                if isinstance(target, ast.Name)
            )
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            for field in ("body", "orelse", "finalbody"):
                yield from _places(getattr(node, field, []), names, owner)


def _named(path: str, places: Sequence[_Place], name: str) -> _Place:
    found = [place for place in places if ".".join(place.names) == name]
    if found:
        return found[-1]  # a later definition replaces an earlier one
    known = [".".join(place.names) for place in places if not place.names[-1].startswith("_") and place.owner is None]
    listed = f"the file defines {', '.join(known)}" if known else "the file defines no function"
    what = f"there is no function {one_line(name)}" if name else "the name of a function is missing after ::"
    raise refuse(NO_FUNCTION, f"{what} in {one_line(Path(path).name)}", path, advice=listed)


def _at(path: str, text: str, places: Sequence[_Place], first: int, last: int) -> _Place:
    count = text.count("\n") + 1
    if not 1 <= first <= last:
        raise refuse(NO_FUNCTION, f"there are no lines {first} to {last}", path, advice=f"the file has {count} lines")
    around = [place for place in places if _first_line(place.node) <= first and last <= (place.node.end_lineno or 0)]
    if not around:  # the selection may reach around one function
        inside = [
            place for place in places if first <= _first_line(place.node) and (place.node.end_lineno or 0) <= last
        ]
        around = [place for place in inside if place.owner is None]
        if len(around) > 1:
            names = ", ".join(place.names[-1] for place in around)
            raise refuse(
                NO_FUNCTION, f"the selection holds several functions: {names}", path, first, advice="select one"
            )
    if not around:
        advice = "put the cursor into a function, a lambda that has a name, or a class with forward"
        raise refuse(NO_FUNCTION, "this selection is no function", path, min(first, count), advice=advice)
    around = [place for place in around if place.names[-1] != "__init__"]  # in a constructor the class is meant
    return max(around, key=lambda place: (_first_line(place.node), len(place.names)))


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(item.lineno for item in decorators)])


def _target(path: str, text: str, tree: ast.Module, place: _Place) -> Target:
    function, kind = place.function, "method" if place.owner else "function"
    qualifier = ".".join(place.names)
    if isinstance(place.node, ast.ClassDef):
        function, kind = _forward(path, place.node), "module"
    elif place.owner is not None and place.names[-1] == "forward":
        kind, qualifier = "module", place.names[0]
    assert function is not None
    _check_name(path, qualifier, function)
    _check_kind(path, qualifier, function)
    bound = place.owner is not None or kind == "module"
    arguments = tuple(_arguments(function.args))
    if bound and not _is(function, "staticmethod"):
        arguments = arguments[1:]
    body = function.body
    start = body[0].lineno - 1 if isinstance(body, list) else function.lineno
    docstring = "" if isinstance(function, ast.Lambda) else ast.get_docstring(function, clean=False) or ""
    return Target(
        path=path,
        text=text,
        qualifier=qualifier,
        kind=kind,  # type: ignore[arg-type]
        arguments=arguments,
        line=function.lineno,
        column=function.col_offset + 1,
        last=function.end_lineno or function.lineno,
        signature_end=max(start, function.lineno),
        docstring=docstring,
        tree=tree,
        variadic=function.args.vararg is not None,
        # A module's own call has a first argument ``self``, too.
        positional=bool(function.args.posonlyargs) or (bound and any(each.name == "self" for each in arguments)),
        is_static=place.owner is not None and _is(function, "staticmethod", "classmethod"),
    )


def _forward(path: str, node: ast.ClassDef) -> FunctionNode:
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "forward":
            return item
    advice = "name one of its methods, as in FILE.py::Class.method"
    raise refuse(NO_FUNCTION, f"the class {node.name} has no method forward", path, node.lineno, advice=advice)


def _check_name(path: str, qualifier: str, function: FunctionNode) -> None:
    """Refuse a name of Python's own machinery: no delivered file reads one."""
    name = next((each for each in qualifier.split(".") if _MACHINERY.fullmatch(each)), "")
    if name:
        what = f"{name} is a name of Python's own, which no program refers to"
        column = function.col_offset + 1
        raise refuse(NO_FUNCTION, what, path, function.lineno, column, advice="give the function another name")


def _check_kind(path: str, qualifier: str, function: FunctionNode) -> None:
    if isinstance(function, ast.AsyncFunctionDef):
        raise refuse(NO_FUNCTION, f"{qualifier} is a coroutine", path, function.lineno, advice="take a plain function")
    own = () if isinstance(function, ast.Lambda) else _own_nodes(function.body)
    if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in own):
        raise refuse(NO_FUNCTION, f"{qualifier} is a generator", path, function.lineno, advice="return its tensors")


def _own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yield the nodes of a body without those of functions inside it."""
    for node in body:
        if not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            yield node
            yield from _own_nodes(list(ast.iter_child_nodes(node)))


def _is(function: FunctionNode, *names: str) -> bool:
    """Whether a function has one of these decorators."""
    decorators = getattr(function, "decorator_list", [])
    return any(isinstance(item, ast.Name) and item.id in names for item in decorators)


def _arguments(args: ast.arguments) -> Iterator[Argument]:
    positional = [*args.posonlyargs, *args.args]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    for item, default in zip(positional, defaults, strict=True):
        yield Argument(item.arg, item.annotation, default, item.lineno, item.col_offset + 1)
    for item, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
        yield Argument(item.arg, item.annotation, default, item.lineno, item.col_offset + 1, by_name=True)
