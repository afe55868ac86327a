"""A Map becomes two, one behind the other: what its function makes of one input alone goes into a Map of that input.

Side condition: the function stands at the level of the file, or under ``fns`` of a task, and returns one expression,
which reads that input in one part only, which reads no other input and has the input's type. Two units then work at a
time; where operators that only repeat that input, or give it another shape, stand in front, the new Map goes before
these and is applied less often.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, applied_to
from stepcore.rewrites.functions import NewFunction, WrittenFunction, declared, replaced, written_function
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Span

_SHAPES: Final = ("Flatten", "Promote", "Identity", "Repeat", "RepeatRef", "Expand")
_LONGEST: Final = 2000  # characters of an expression that is taken apart


class SplitMap(ExplainedRewrite):
    """Give what a Map does to one of its inputs to a Map of its own."""

    name: str = "split-map"
    summary: str = "what a Map makes of one input goes into a Map of its own"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each input of each Map of which a part of its function can be taken off."""
        for node in subject.alone("Map"):
            call = subject.call(node)
            if call is None or "fn" not in call.keywords or len(call.items) != len(node.inputs):
                continue
            fn = call.keywords["fn"]
            function = written_function(subject, subject.text[fn.start : fn.end])
            if function is None or len(function.arguments) != 1 or len(function.inputs) != len(call.items):
                what = "the types of its function are not written one by one at a declaration of the file"
                yield RewriteRefusal(self.name, what, node.op_span)
                continue
            found: list[RewritePlace] = list(self._of(subject, node, call, function))
            what = f"{function.name} makes nothing of one input alone before it joins it with the rest"
            yield from found or [RewriteRefusal(self.name, what, node.op_span)]

    def _of(
        self, subject: RewriteSubject, node: TypedNode, call: WrittenCall, function: WrittenFunction
    ) -> Iterator[RewriteSite]:
        returned = function.returned
        if returned is None or len(ast.unparse(returned)) > _LONGEST:
            return
        (argument,) = arguments = function.arguments
        for number, kind in enumerate(function.inputs):
            taken = _taken(returned, argument, number)
            if taken is None:
                continue
            names = FreshNames(subject.text)
            first, rest = names.one(f"{function.name}_of_{argument}"), names.one(f"{function.name}_rest")
            own = f"{argument}[{number}]"
            inside, left = replaced(taken, own, f"{argument}[0]"), replaced(returned, ast.unparse(taken), own)
            made = [
                NewFunction(first, arguments, (kind,), kind, (f"return [{inside}]",)),
                NewFunction(rest, arguments, function.inputs, function.output, (f"return [{left}]",)),
            ]
            edit = declared(subject, made)
            if edit is None:
                return
            wrapped = applied_to(
                _before_shapes(subject, node.inputs[number], call.items[number]), f"{subject.module}Map(fn={first})"
            )
            sentence = f"{inside} of {function.name} is computed by a Map of its own"
            params = (("count", str(len(function.inputs))),)
            yield RewriteSite(self.name, sentence, (edit, Edit(call.keywords["fn"], rest), *wrapped), params)


def _before_shapes(subject: RewriteSubject, stream: int, place: Span) -> Span:
    """Return where the first of the operators in front that only repeat a stream, or shape it, reads it."""
    node = subject.producer(stream)
    while node is not None and node.op_name in _SHAPES and subject.is_alone(node):
        call = subject.call(node)
        if call is None or len(call.items) != len(node.inputs):
            break
        place = call.items[0]
        node = subject.producer(node.inputs[0])
    return place


def _taken(returned: ast.expr, argument: str, number: int) -> ast.expr | None:
    """Return the largest proper part that reads one input alone, and all of it; None where that is the input itself."""
    own = f"{argument}[{number}]"
    reads = sum(_reads(node, own) for node in ast.walk(returned))
    parts = [node for node in ast.walk(returned) if isinstance(node, ast.Call | ast.BinOp | ast.UnaryOp)]
    for part in parts:  # the largest ones come first
        inside = list(ast.walk(part))
        names = sum(isinstance(node, ast.Name) and node.id == argument for node in inside)
        if part is not returned and 0 < reads == names == sum(_reads(node, own) for node in inside):
            return part
    return None


def _reads(node: ast.AST, own: str) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node) == own
