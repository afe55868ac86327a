"""The fix of last resort: a program written out as one operator per line, with every missing ``Copy``.

It serves where copies cannot be put in place (a closure, a lambda, a ``while`` loop, a list that holds one stream
twice). Element functions, the docstring and all comments of the body are kept; everything else is printed anew.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from dataclasses import replace

from stepcore.check.copies import NoFix
from stepcore.diagnostics import Edit, Fix
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import Use
from stepcore.ir import Graph, Node, Stream
from stepcore.ops import Copy
from stepcore.printer import graph_to_impl
from stepcore.span import Embedded, Span


def straighten(el: Elaborator, body: list[ast.stmt], code: Embedded) -> Fix:
    """Return the fix that replaces the whole body, or raise :class:`NoFix`."""
    if not el.graph.complete or not el.graph.returns or any(use.path for use in el.uses) or not code.verbatim:
        raise NoFix
    if any(node.op is None for node in el.graph.nodes) or el.op_module == "":
        raise NoFix
    program = graph_to_impl(with_copies(el.graph, el.uses)).replace("step.", f"{el.op_module}.")
    kept = [statement for statement in body if _is_kept(statement)]
    pieces = [_text(code, statement) for statement in kept] + _comments(code, body, kept) + program.split("\n")
    span = Span(node_span(code, body[0]).start, node_span(code, body[-1]).end)
    indent = code.indent + " " * body[0].col_offset
    newline = code.newline
    text = f"{newline}{indent}".join(pieces)
    return Fix("Write the program out with all missing Copy operators", (Edit(span, text),))


def with_copies(graph: Graph, uses: list[Use]) -> Graph:
    """Return ``graph`` with a chain of Copy behind every stream that is consumed more than once."""
    counts = Counter(use.stream for use in uses)
    result = Graph(graph.name, [], [], [], [])
    supply: dict[int, list[int]] = {}

    def add_stream(old: Stream, producer: int | None, slot: int) -> int:
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


def _text(code: Embedded, statement: ast.stmt) -> str:
    """Return the text of a statement, its decorators included; later lines keep their indentation."""
    start_line = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))]) - 1
    inner = code.inner
    start = inner.offset_from_utf8(start_line, statement.col_offset)
    end = inner.offset_from_utf8((statement.end_lineno or 1) - 1, statement.end_col_offset or 0)
    if not code.indent:
        return code.text[start:end]
    return code.text[start:end].replace("\n", f"{code.newline}{code.indent}")


def _comments(code: Embedded, body: list[ast.stmt], kept: list[ast.stmt]) -> list[str]:
    """Return the comments of the body that stand outside the kept statements."""
    first, last = body[0].lineno, body[-1].end_lineno or body[-1].lineno
    held = {line for s in kept for line in range(s.lineno, (s.end_lineno or s.lineno) + 1)}
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(code.text).readline))
    except (tokenize.TokenError, IndentationError, SyntaxError) as error:
        raise NoFix from error
    return [
        token.string
        for token in tokens
        if token.type == tokenize.COMMENT and first <= token.start[0] <= last and token.start[0] not in held
    ]
