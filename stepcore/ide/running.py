"""What the run of a program depends on in its own file, which is more than what checking it depends on.

A run imports the whole file for the reference. So it depends on every statement of the module, on what these
statements name, on the decorators, defaults and annotations of all functions, and on the file being legal Python from
its first to its last line. Only the bodies of functions that nothing names do not matter: their text may change, as
long as any Python compiles it. Where the text can reach what it does not name, everything matters.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from copy import copy
from typing import Final

from stepcore.check.files import program_extent
from stepcore.findings.codes import about, faults
from stepcore.frontend.syntax import parse_suite
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.cut import Cut, common
from stepcore.records import Record
from stepcore.text.remembered import remembered_text
from stepcore.text.span import Span

_LIBRARY: Final = "stepcore"
_DECORATORS: Final = frozenset(
    {"fn", "program", "composition"}
)  # of the library: they keep a function and do not call it
# Names with which a text may read or call what it does not name, or change what names mean.
_REFLECTION: Final = frozenset(
    {
        *("__builtins__", "__dict__", "__file__", "__getattr__", "__globals__", "__import__", "__wrapped__"),
        *(
            "_getframe",
            "currentframe",
            "eval",
            "exec",
            "f_globals",
            "gc",
            "globals",
            "import_module",
            "importlib",
            "inspect",
        ),
        *("linecache", "locals", "modules", "pickle", "pkgutil", "runpy", "setattr", "tokenize", "vars"),
    }
)
_SUPPRESSES: Final = re.compile(r"#[ \t]*stepsmith:.*")
# Nodes of bodies, how deep they lie, and loops in loops: beyond that a body counts in full.
_MAX_NODES: Final = 10_000
_MAX_DEPTH: Final = 200
_MAX_BLOCKS: Final = 15


class Executed(Record):
    """What an import does with one block. ``head`` is the mark of what it runs in any case, ``whole`` that of all.

    ``calls`` are names with which the head may call something. ``is_free``: there are bodies that it does not run, if
    ``roots``, with which decorators begin, are the library.
    """

    head: str
    whole: str
    calls: frozenset[str]
    is_free: bool
    is_open: bool  # it may reach what it does not name
    roots: frozenset[str]
    binds: frozenset[str]  # names that it imports from the library
    sets: frozenset[str]  # names of things of which it sets attributes


def run_marks(analysis: Analysis) -> list[str]:
    """Return for each unit of a document a text that changes with anything that a run of its program depends on."""
    cut = analysis.cut
    if cut is None:  # a task is read as a whole
        return [unit.fingerprint for unit in analysis.units]
    return list(_Marks(analysis, cut).all())


class _Marks:
    """One pass over a Python file."""

    def __init__(self, analysis: Analysis, cut: Cut) -> None:
        self._analysis = analysis
        self._cut = cut
        self._blocks = [executed(text) for _, text in cut.blocks]
        self._definers: dict[str, list[int]] = {}
        for index, item in enumerate(cut.shapes):
            for name in item.names:
                self._definers.setdefault(name, []).append(index)
        self._names = frozenset(self._definers)
        library = frozenset().union(*(item.binds for item in self._blocks))
        is_open = any(item.is_open or item.sets & library for item in self._blocks)
        free = [not is_open and item.is_free and self._is_library(item) for item in self._blocks]
        always = [index for index, is_free in enumerate(free) if not is_free]
        calls = frozenset().union(*(item.calls for item in self._blocks))
        self._always = self._reached(always, calls)
        marks = (item.whole if index in self._always else item.head for index, item in enumerate(self._blocks))
        before = cut.text[: cut.blocks[0][0]] if cut.blocks else cut.text
        lines = (line for line in before.splitlines() if line.strip() and not line.lstrip().startswith("#"))
        self._base = _digest([*lines, "", *marks])

    def all(self) -> Iterator[str]:
        """Yield the mark of each unit."""
        extents = [list(_extents(unit)) for unit in self._analysis.units]
        faults = list(self._faults([extent for inside in extents for extent in inside]))
        comments = _SUPPRESSES.findall(self._analysis.source.text)
        for (program, _), unit, inside in zip(self._cut.members, self._analysis.units, extents, strict=True):
            own = set() if program is None else self._reached([program], frozenset(), self._always)
            others = [text for span, text in faults if not any(_holds(extent, span) for extent in inside)]
            called = (self._blocks[index].whole for index in sorted(own))
            yield _digest([unit.fingerprint, self._base, *called, *others, *comments])

    def _reached(self, roots: Iterable[int], words: frozenset[str], known: Set[int] = frozenset()) -> set[int]:
        """Return ``roots`` and the blocks that bind what they name, or ``words``, and so on, without ``known`` ones."""
        found: set[int] = set()
        todo = [*roots, *self._binding(words)]
        while todo:
            index = todo.pop()
            if index not in found and index not in known:
                found.add(index)
                todo.extend(self._binding(self._cut.shapes[index].words))
        return found

    def _binding(self, words: frozenset[str]) -> Iterator[int]:
        for word in common(words, self._names):
            yield from self._definers[word]

    def _is_library(self, block: Executed) -> bool:
        """Return whether all decorators of a block can only be those of the library."""
        return all(
            root in self._definers and all(root in self._blocks[index].binds for index in self._definers[root])
            for root in block.roots
        )

    def _faults(self, programs: Sequence[Span]) -> Iterator[tuple[Span, str]]:
        """Yield the errors with which a program may be refused that stand outside of it, given where all are."""
        for item in faults(self._analysis.diagnostics):
            if about(item.code).shared or not any(_holds(extent, item.span) for extent in programs):
                yield item.span, f"{item.code}{self._analysis.source.slice(item.span)}"


def _extents(unit: DocumentUnit) -> Iterator[Span]:
    """Yield where the programs of a unit stand in the document."""
    for checked in unit.result.programs:
        extent = unit.to_document(program_extent(checked))
        if extent is not None:
            yield extent


@remembered_text
def executed(text: str) -> Executed:
    """Return what an import does with a block."""
    suite = parse_suite(text)
    try:
        found = None if suite.faults else _executed(suite.body)
    except (RecursionError, ValueError):  # expressions inside each other, numbers of thousands of digits
        found = None
    nothing: frozenset[str] = frozenset()
    mark = _digest([text])
    return found or Executed(mark, mark, nothing, False, False, nothing, nothing, nothing)


def _executed(body: list[ast.stmt]) -> Executed:
    nodes = [node for statement in body for node in ast.walk(statement)]
    functions = [item for item in body if isinstance(item, ast.FunctionDef)]
    roots = [_root(decorator) for item in functions for decorator in item.decorator_list]
    is_free = bool(functions) and len(functions) == len(body) and None not in roots and _compiles(functions)
    heads = [_head(item) for item in functions] if is_free else []
    return Executed(
        head=_digest(map(ast.dump, heads or body)),
        whole=_digest(map(ast.dump, body)),
        calls=frozenset(name for head in heads for name in _calls(head)),
        is_free=is_free,
        is_open=any(map(_is_open, nodes)),
        roots=frozenset(root for root in roots if root is not None),
        binds=frozenset(name for item in body for name in _from_library(item)),
        sets=frozenset(name for node in nodes for name in _attribute_set(node)),
    )


def _head(function: ast.FunctionDef) -> ast.FunctionDef:
    """Return a function without its body."""
    head = copy(function)
    head.body = []
    return head


def _calls(head: ast.FunctionDef) -> Iterator[str]:
    """Yield all names in decorators, defaults and annotations with a call in it, besides those of the library."""
    decorators = [item for item in head.decorator_list if isinstance(item, ast.Call)]
    given = (part for item in decorators for part in (*item.args, *item.keywords))
    for part in (*given, head.args, *([] if head.returns is None else [head.returns])):
        nodes = list(_run_at_once(part))
        if any(isinstance(node, ast.Call) for node in nodes):
            yield from (node.id for node in nodes if isinstance(node, ast.Name))


def _run_at_once(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression that are run when it is, which those in a lambda are not."""
    yield node
    for child in [node.args] if isinstance(node, ast.Lambda) else ast.iter_child_nodes(node):
        yield from _run_at_once(child)


def _is_open(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _REFLECTION
        case ast.Import(names=names):
            return any(_REFLECTION & set(item.name.split(".")) for item in names)
        case ast.ImportFrom(module=module, names=names):
            return any(item.name == "*" or item.name in _REFLECTION for item in names) or module in _REFLECTION
        case ast.Global():
            return True
    return False


def _attribute_set(node: ast.AST) -> Iterator[str]:
    """Yield ``step`` for ``step.fn = ...``."""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
        inner: ast.expr = node.value
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        if isinstance(inner, ast.Name):
            yield inner.id


def _root(decorator: ast.expr) -> str | None:
    """Return ``step`` for ``@step.fn(...)``, ``fn`` for ``@fn(...)``, and None for what is no decorator of ours."""
    match decorator:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=root), attr=name)) if name in _DECORATORS:
            return root
        case ast.Call(func=ast.Name(id=name)) if name in _DECORATORS:
            return name
    return None


def _from_library(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Import(names=names):
            inside = (item for item in names if item.name.partition(".")[0] == _LIBRARY)
            yield from (item.asname or _LIBRARY for item in inside)
        case ast.ImportFrom(module=str(module), level=0, names=names) if module.partition(".")[0] == _LIBRARY:
            yield from (item.asname or item.name for item in names)


def _compiles(functions: list[ast.FunctionDef]) -> bool:
    """Return whether any Python compiles the bodies of functions: what one refuses would break the import.

    Only nodes of a table do: they are no error wherever they stand, and 3.11 reads them as later versions do.
    """
    todo: list[tuple[ast.AST, int, int]] = [(item, 0, 0) for function in functions for item in function.body]
    count = 0
    while todo:
        node, depth, blocks = todo.pop()
        count += 1
        blocks += isinstance(node, _BLOCKS)
        if count > _MAX_NODES or depth > _MAX_DEPTH or blocks > _MAX_BLOCKS or not _is_harmless(node):
            return False
        todo.extend((child, depth + 1, blocks) for child in ast.iter_child_nodes(node))
    return all(not getattr(function, "type_params", None) for function in functions)


def _is_harmless(node: ast.AST) -> bool:
    match node:
        case ast.FunctionDef():
            return node.name != _DEBUG and not getattr(node, "type_params", None)
        case ast.arguments():
            found = (*node.posonlyargs, *node.args, *node.kwonlyargs, node.vararg, node.kwarg)
            names = [item.arg for item in found if item is not None]
            return len({*names, _DEBUG}) == len(names) + 1
        case ast.Call(keywords=keywords):
            given = [item.arg for item in keywords if item.arg is not None]
            return len({*given, _DEBUG}) == len(given) + 1
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name != _DEBUG
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return all(item.name != "*" and _DEBUG not in (item.name, item.asname) for item in names)
        case ast.comprehension(is_async=is_async):
            return not is_async
    return isinstance(node, _HARMLESS)


_DEBUG: Final = "__debug__"  # the one name that nothing may bind
_BLOCKS: Final = (ast.For, ast.While, ast.With)
_HARMLESS: Final = (
    *_BLOCKS,
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Expr, ast.If, ast.Pass, ast.Assert, ast.Raise),
    *(ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.Compare, ast.Constant, ast.Subscript, ast.List, ast.Tuple, ast.Set, ast.Slice),
    *(ast.alias, ast.arg, ast.keyword, ast.withitem),
    *(ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop),
)


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start < outer.end


def _digest(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode("utf-8", "surrogatepass") + b"\0")
    return found.hexdigest()[:16]
