"""Element functions as a file writes them, and new ones beside them: in a Python file and under ``fns`` of a task.

Types stand as text of the form that the file has, so what a user wrote is written again as it was.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.findings.diagnostics import Edit
from stepcore.fn.decl import FnDecl
from stepcore.fn.source import BodySyntaxError, statements, statements_of
from stepcore.frontend.typetext import parse_type
from stepcore.printing.code_lines import constant_text
from stepcore.printing.python import element_text
from stepcore.printing.task import type_text
from stepcore.records import Record
from stepcore.rewrites.statements import before_program, function_keyword, functions_of
from stepcore.rewrites.subject import RewriteSubject
from stepcore.text.span import Embedded, Span
from stepcore.types import STuple

_NO_ITEM: Final = (" ", "\t", "-", "#", "\r", "\n")  # how lines of a list begin that are no key of the task
_QUOTE: Final = '"'  # around a type with a comma, which only lists need
_ITEM: Final = re.compile(r'"[^"]*"|[^\s,"]+')  # of a list of types


class WrittenFunction(Record):
    """An element function: its arguments and statements, its types as text, ``init`` as the text of a list.

    ``inputs`` are the types of the components, one where that is no tuple. ``code`` is what ``body`` was parsed from.
    """

    name: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    init: str | None
    body: tuple[ast.stmt, ...]
    code: Embedded

    def shown(self, node: ast.expr | ast.stmt) -> str:
        """Return a part of the body as it is written."""
        return self.code.inner.slice(inner_span(self.code, node))

    @property
    def returned(self) -> ast.expr | None:
        """What it returns where that is all that it does, as the one item of a list."""
        match self.body:
            case [ast.Return(value=ast.List(elts=[expression]))]:
                return expression
        return None


class NewFunction(Record):
    """A function that is declared: ``lines`` are its body, types and ``init`` are as of :class:`WrittenFunction`.

    ``output`` are the types of the components where it gives a tuple.
    """

    name: str
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str | tuple[str, ...]
    lines: tuple[str, ...]
    init: str | None = None


def written_function(subject: RewriteSubject, name: str) -> WrittenFunction | None:
    """Return the function that a program calls ``name``; None where it stands neither under ``fns`` nor at the level
    of the file, or is declared in another way than by one call alone."""
    if subject.result.task is None:
        return _of_file(subject, name)
    given = (node.params.get("fn") for node in subject.graph.nodes) if subject.defines_in_impl else ()
    known = (*subject.checked.spec.fns, *(fn for fn in given if isinstance(fn, FnDecl)))
    return next((_of_task(fn) for fn in known if fn.func_name == name), None)


def declared(subject: RewriteSubject, functions: Sequence[NewFunction]) -> Edit | None:
    """Return the edit that declares functions: before the program; in a task behind the last one of ``fns``, or at the
    head of its ``impl`` where that may define some, so that an answer in a file of its own can hold them.

    None where there is no room: the task has no functions, or its program stands in another file.
    """
    if subject.defines_in_impl:
        return _in_impl(subject, functions)
    if subject.result.task is not None:
        return _in_task(subject, functions)
    lines: list[str] = []
    for each in functions:
        lines += ["", ""] if lines else []
        lines += _definition(subject.module, each)
    return before_program(subject, lines)


def _definition(module: str, function: NewFunction) -> list[str]:
    """Return the lines of a function in Python, whose types are of that form."""
    init = "" if function.init is None else f", init={function.init}"
    types = f"input={_tuple(function.inputs)}, output={_tuple(function.output)}"
    head = f"def {function.name}({', '.join(function.arguments)}):"
    return [f"@{module}fn({types}{init})", head, *(f"    {line}" for line in function.lines)]


def number_names(subject: RewriteSubject) -> frozenset[str]:
    """Return the names that are a number in bodies: ``D_value`` of a size, and what the file binds once to one."""
    spec = subject.checked.spec
    names = {f"{size}_value" for size in spec.symbols()}
    body = statements_of(spec.scope.prelude)
    nodes = (node for statement in body for node in ast.walk(statement))
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float())):
                names |= {name} if bound.count(name) == 1 else set()
    return frozenset(names)


def replaced(expression: ast.expr, shown: str, new: str) -> str:
    """Return an expression with the expression ``new`` in the place of each part that reads ``shown``."""
    copied = ast.parse(ast.unparse(expression), mode="eval")
    return ast.unparse(_Replaced(shown, new).visit(copied))


class _Replaced(ast.NodeTransformer):
    """Puts an expression in the place of another one."""

    def __init__(self, shown: str, new: str) -> None:
        self._shown, self._new = shown, ast.parse(new, mode="eval").body

    def visit(self, node: ast.AST) -> ast.AST:
        """Return the new one for what is meant, else the node with what is inside of it replaced."""
        if isinstance(node, ast.expr) and ast.unparse(node) == self._shown:
            return self._new
        return self.generic_visit(node)


def _of_file(subject: RewriteSubject, name: str) -> WrittenFunction | None:
    code, function = subject.code, functions_of(subject.tree).get(name)
    if code is None or function is None:
        return None
    given, made, init = (function_keyword(function, key) for key in ("input", "output", "init"))
    arguments = function.args
    others = (arguments.vararg, arguments.kwarg, *arguments.kwonlyargs, *arguments.posonlyargs)
    if given is None or made is None or any(each is not None for each in others):
        return None

    def shown(node: ast.expr) -> str:
        return code.inner.slice(inner_span(code, node))

    inputs = given.elts if isinstance(given, ast.Tuple) else [given]
    return WrittenFunction(
        name, tuple(each.arg for each in arguments.args), tuple(map(shown, inputs)), shown(made),
        None if init is None else shown(init), tuple(function.body), code,
    )  # fmt: skip


def _of_task(fn: FnDecl) -> WrittenFunction | None:
    try:
        body = statements(fn.body)
    except BodySyntaxError:
        return None
    if fn.init_body is not None:
        return None
    inputs = fn.input.items if isinstance(fn.input, STuple) else (fn.input,)
    init = None if fn.init is None else f"[{', '.join(map(constant_text, fn.init))}]"
    return WrittenFunction(
        fn.func_name, fn.body.arguments, tuple(map(type_text, inputs)), type_text(fn.output), init, body,
        Embedded.whole(fn.body.source.text),
    )  # fmt: skip


def entry_lines(subject: RewriteSubject) -> list[tuple[str, Span]]:
    """Return the functions under ``fns`` that are written as :func:`declared` writes them, with their lines."""
    text, found = subject.text, []
    for fn in subject.checked.spec.fns:
        start = text.rfind("\n", 0, fn.span.start) + 1
        margin = text[start : fn.span.start].removesuffix("- func_name: ")
        if margin.strip(" ") or not text.startswith(f"{margin}- func_name: {fn.func_name}", start):
            continue
        end = text.find("\n", start) + 1 or len(text)
        while text.startswith(f"{margin}  ", end):
            end = text.find("\n", end) + 1 or len(text)
        found.append((fn.func_name, Span(start, end)))
    return found


def _in_impl(subject: RewriteSubject, functions: Sequence[NewFunction]) -> Edit | None:
    """Return the edit that defines functions at the head of ``impl``, where types are written as in Python."""
    code = subject.code
    if code is None:
        return None
    lines: list[str] = []
    for each in functions:
        inputs, output = tuple(map(_python_type, each.inputs)), each.output
        made = _python_type(output) if isinstance(output, str) else tuple(map(_python_type, output))
        lines += [*_definition(subject.module, replace(each, inputs=inputs, output=made)), ""]
    place = code.to_outer(len(code.text) - len(code.text.lstrip("\n")))
    indents = [code.indent if line else "" for line in lines[1:]] + [code.indent]  # empty lines have none
    pairs = zip(lines, indents, strict=True)
    return Edit(Span(place, place), "".join(f"{line}{code.newline}{behind}" for line, behind in pairs))


def _python_type(text: str) -> str:
    """Return a type of a task, or a list of several, as Python spells it; sizes stay in the order of the task."""
    if text.startswith("["):
        return _tuple(tuple(_python_type(item) for item in _ITEM.findall(text[1:-1])))
    parsed = parse_type(text.strip(_QUOTE)).element
    return text if parsed is None else element_text(parsed)


def _in_task(subject: RewriteSubject, functions: Sequence[NewFunction]) -> Edit | None:
    task, text = subject.result.task, subject.text
    fns = subject.checked.spec.fns
    if task is None or not fns or task.impl_source is not task.source:
        return None
    first, last = (place(fn.span.start for fn in fns) for place in (min, max))
    start = text.rfind("\n", 0, first) + 1
    while start and not text[start:].lstrip(" ").startswith("- "):  # func_name need not be the first of its keys
        start = text.rfind("\n", 0, start - 1) + 1
    margin = text[start : text.find("-", start)]
    if margin.strip():
        return None
    end = _end_of_list(text, last)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"{margin}{line}" for each in functions for line in _entry(each)]
    before = "" if text[:end].endswith("\n") else newline
    return Edit(Span(end, end), before + "".join(f"{line}{newline}" for line in lines))


def _end_of_list(text: str, place: int) -> int:
    """Return where the lines of a key of the task end that hold ``place``, without comments and space behind them."""
    end = at = text.find("\n", place) + 1 or len(text)
    while at < len(text) and text.startswith(_NO_ITEM, at):
        following = text.find("\n", at) + 1 or len(text)
        line = text[at:following]
        end = following if line.strip() and not line.startswith("#") else end
        at = following
    return end


def _entry(function: NewFunction) -> list[str]:
    """Return the lines of a function under ``fns``."""
    inputs, output = (_listed(each) for each in (function.inputs, function.output))
    return [
        f"- func_name: {function.name}",
        *([] if function.init is None else [f"  init: {function.init}"]),
        f"  input_dtype: {inputs}",
        f"  output_dtype: {output}",
        "  apply: |-",
        *(f"    {line}" for line in function.lines),
    ]


def _listed(types: str | tuple[str, ...]) -> str:
    """Return a type, or those of several components, as the value of a key."""
    several = (types,) if isinstance(types, str) else types
    return f"[{', '.join(several)}]" if len(several) > 1 else several[0].strip(_QUOTE)


def _tuple(types: str | tuple[str, ...]) -> str:
    items = (types,) if isinstance(types, str) else types
    return f"({', '.join(items)})" if len(items) > 1 else items[0]
