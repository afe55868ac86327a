"""Element functions as a file writes them, and new ones beside them: in a Python file and under ``fns`` of a task.

Types stand as text of the form that the file has, so what a user wrote is written again as it was.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from stepcore.check.rewriting import inner_span
from stepcore.findings.diagnostics import Edit
from stepcore.fn.decl import FnDecl
from stepcore.fn.source import BodySyntaxError, statements, statements_of
from stepcore.printing.code_lines import constant_text
from stepcore.printing.task import type_text
from stepcore.records import Record
from stepcore.rewrites.statements import before_program, function_keyword, functions_of
from stepcore.rewrites.subject import RewriteSubject
from stepcore.text.span import Embedded, Span
from stepcore.types import STuple

_NO_ITEM: Final = (" ", "\t", "-", "#", "\r", "\n")  # how lines of a list begin that are no key of the task
_QUOTE: Final = '"'  # around a type with a comma, which only lists need


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
    return next((_of_task(fn) for fn in subject.checked.spec.fns if fn.func_name == name), None)


def declared(subject: RewriteSubject, functions: Sequence[NewFunction]) -> Edit | None:
    """Return the edit that declares functions: before the program, in a task behind the last one of ``fns``.

    None where there is no room: the task has no functions, or its program stands in another file.
    """
    if subject.result.task is not None:
        return _in_task(subject, functions)
    lines: list[str] = []
    for each in functions:
        init = "" if each.init is None else f", init={each.init}"
        lines += ["", ""] if lines else []
        lines.append(f"@{subject.module}fn(input={_tuple(each.inputs)}, output={_tuple(each.output)}{init})")
        lines += [f"def {each.name}({', '.join(each.arguments)}):", *(f"    {line}" for line in each.lines)]
    return before_program(subject, lines)


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
