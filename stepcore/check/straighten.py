"""The fix of last resort: a program written out as one operator per line, with every missing ``Copy``.

It serves where copies cannot be put in place (a closure, a lambda, a ``while`` loop, a list that holds one stream
twice). Element functions, the docstring and all comments of the body are kept; everything else is printed anew.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from dataclasses import replace
from typing import Final

from stepcore.check.rewriting import NoFix, inner_span, text_before
from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.values import Use
from stepcore.graph.ir import Graph, GraphStream, Node
from stepcore.ops import Copy
from stepcore.printing.task import graph_to_impl
from stepcore.text.span import Embedded, Span

_COMMENT_BEHIND: Final = re.compile(r"[ \t]*#[^\r\n]*")


def straighten(el: Elaborator, body: list[ast.stmt], code: Embedded) -> Fix:
    """Return the fix that replaces the whole body, or raise :class:`NoFix`."""
    if not el.graph.complete or not el.graph.returns or any(use.path for use in el.uses) or not code.verbatim:
        raise NoFix
    if not el.op_module:  # the operators would have to be imported one by one
        raise NoFix
    program = graph_to_impl(with_copies(el.graph, el.uses)).replace("step.", f"{el.op_module}.")
    kept = [_extent(code, statement) for statement in body if _is_kept(statement)]
    span = _extent(code, body[0]).cover(_extent(code, body[-1]))
    pieces = [_lines(code, part) for part in kept] + _comments(code, span, kept) + program.split("\n")
    text = f"{code.newline}{code.indent}{text_before(code, body[0])}".join(pieces)
    return Fix("Write the program out with all missing Copy operators", (Edit(code.span_to_outer(span), text),))


def with_copies(graph: Graph, uses: list[Use]) -> Graph:
    """Return ``graph`` with a chain of Copy behind every stream that is consumed more than once."""
    counts = Counter(use.stream for use in uses)
    result = Graph(graph.name, [], [], [], [])
    supply: dict[int, list[int]] = {}

    def add_stream(old: GraphStream, producer: int | None, slot: int) -> int:
        index = len(result.streams)
        result.streams.append(replace(old, index=index, producer=producer, slot=slot))
        return index

    def provide(old: int, index: int) -> None:
        supply[old] = available = [index]
        while len(available) < counts[old]:
            number = len(result.nodes)
            source = available.pop()
            outputs = tuple(add_stream(graph.streams[old], number, slot) for slot in (0, 1))
            span = graph.streams[old].span
            result.nodes.append(Node(number, "Copy", Copy(), (source,), outputs, span, span))
            available.extend(outputs)
        available.reverse()

    for old in graph.inputs:
        result.inputs.append(add_stream(graph.streams[old], None, 0))
    for old, index in zip(graph.inputs, list(result.inputs), strict=True):
        provide(old, index)
    for node in graph.nodes:
        inputs = tuple(supply[index].pop() for index in node.inputs)
        number = len(result.nodes)
        outputs = tuple(add_stream(graph.streams[old], number, slot) for slot, old in enumerate(node.outputs))
        result.nodes.append(replace(node, index=number, inputs=inputs, outputs=outputs))
        for old, index in zip(node.outputs, outputs, strict=True):
            provide(old, index)
    result.returns = [supply[index].pop() for index in graph.returns]
    return result


def _is_kept(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return bool(statement.decorator_list)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _extent(code: Embedded, statement: ast.stmt) -> Span:
    """Return where a statement stands in the embedded text, with its decorators and the comment behind a function."""
    span = inner_span(code, statement)
    if not isinstance(statement, ast.FunctionDef):
        return span
    at = min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)]) - 1
    comment = _COMMENT_BEHIND.match(code.text, span.end)
    return Span(code.inner.offset(at, 0) + len(text_before(code, statement)), comment.end() if comment else span.end)


def _lines(code: Embedded, span: Span) -> str:
    """Return a part of the embedded text as it has to stand in the file; later lines keep their indentation."""
    first, *rest = code.inner.slice(span).replace("\r\n", "\n").split("\n")
    return code.newline.join([first, *(code.indent + line if line else "" for line in rest)])


def _comments(code: Embedded, span: Span, kept: list[Span]) -> list[str]:
    """Return the comments in a part of the embedded text that stand outside what is kept."""
    readline = io.StringIO(code.text, newline=None).readline  # the line ends of Python, not only "\n"
    try:
        tokens = list(tokenize.generate_tokens(readline))
    except (tokenize.TokenError, SyntaxError) as error:
        raise NoFix from error  # pragma: no mutate: no text is known that can be parsed, but not split into tokens
    held = {offset for part in kept for offset in range(*part)}
    found = {_offset(code, token): token.string for token in tokens if token.type == tokenize.COMMENT}
    return [text for offset, text in found.items() if offset in range(*span) and offset not in held]


def _offset(code: Embedded, token: tokenize.TokenInfo) -> int:
    line, column = token.start
    return code.inner.offset(line - 1, column)
