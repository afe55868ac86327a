"""A Map in front of an operator that only gives its elements another shape, or gives each of them often.

Side condition: the function is applied to every element by itself, so it does not see where one stands; the stream in
between is read by the other operator only. In front of Repeat and RepeatRef it is applied less often; Maps that stand
next to each other then can be fused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject

_SHAPES: Final = ("Flatten", "Promote", "Identity", "Repeat")


class MoveMap(ExplainedRewrite):
    """Swap a Map with the shape operator whose result it reads."""

    name: str = "move-map"
    summary: str = "a Map before the operator that only changes shapes, or repeats, what it reads"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each Map of one stream that reads a shape operator's result."""
        for nodes in subject.heads.values():
            if all(node.op_name == "Map" and len(node.inputs) == 1 for node in nodes):
                yield from self._of(subject, nodes)

    def _of(self, subject: RewriteSubject, nodes: list[TypedNode]) -> Iterator[RewritePlace]:
        shapes = [subject.producer(node.inputs[0]) for node in nodes]
        first, call = shapes[0], subject.call(nodes[0])
        if first is None or call is None:
            return
        if first.op_name not in _SHAPES:
            what = f"{first.written} in front of it makes other elements, not another shape of the same ones"
            yield RewriteRefusal(self.name, what, nodes[0].op_span)
            return
        others = subject.heads[first.op_span]
        before = subject.call(first)
        if before is None or {each.index for each in others} != {each.index for each in shapes if each is not None}:
            what = f"the text of {first.written} in front of it gives more than this Map reads"
            yield RewriteRefusal(self.name, what, nodes[0].op_span)
            return
        function, shape = (subject.text[each.head.start : each.head.end] for each in (call, before))
        edits = (Edit(call.head, shape), Edit(before.head, function))
        name = getattr(nodes[0].op, "fn", None)
        less = ", which applies it less often" if first.op_name == "Repeat" else ""
        sentence = f"{getattr(name, 'func_name', 'a function')} is applied before {first.written}{less}"
        yield RewriteSite(self.name, sentence, edits, (("shape", first.op_name),))
