"""Places in a text before and after edits: what is read in the edited text is told where it stands in the first one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from itertools import accumulate

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, apply_edits
from stepcore.frontend.yaml.nodes import ListNode, MapNode, Node, ScalarNode
from stepcore.text.span import Span


class Shifts:
    """Edits of a text; of those that overlap the first one is kept."""

    def __init__(self, edits: Iterable[Edit]) -> None:
        kept: list[Edit] = []
        for edit in sorted(set(edits), key=lambda each: (each.span, each.text)):
            if not kept or edit.span.start >= kept[-1].span.end:
                kept.append(edit)
        self.edits = tuple(kept)
        grown = [len(edit.text) - (edit.span.end - edit.span.start) for edit in kept]
        before = [0, *accumulate(grown)]
        self._starts = [edit.span.start + by for edit, by in zip(kept, before, strict=False)]

    def applied(self, text: str) -> str:
        """Return the edited text."""
        return apply_edits(text, list(self.edits))

    def back(self, at: int) -> int:
        """Return where ``at``, an offset of the edited text, stands in the first one."""
        number = bisect_right(self._starts, at) - 1
        if number < 0:
            return at
        edit, past = self.edits[number], at - self._starts[number]
        if past == 0:
            return edit.span.start
        return edit.span.end + max(past - len(edit.text), 0)

    def span(self, span: Span) -> Span:
        """Return a span of the edited text in the first one."""
        return Span(self.back(span.start), self.back(span.end))

    def finding(self, found: Diagnostic) -> Diagnostic:
        """Return a finding in the edited text as one in the first text."""
        fix = found.fix and Fix(found.fix.title, tuple(Edit(self.span(e.span), e.text) for e in found.fix.edits))
        return replace(found, span=self.span(found.span), fix=fix)

    @staticmethod
    def moved(found: Diagnostic, by: int) -> Diagnostic:
        """Return a finding that stands ``by`` characters further on."""
        fix = found.fix and Fix(found.fix.title, tuple(Edit(_moved(e.span, by), e.text) for e in found.fix.edits))
        return replace(found, span=_moved(found.span, by), fix=fix)

    def node(self, node: Node) -> Node:
        """Return a copy of a node of the edited text that stands where it does in the first one."""
        span = self.span(node.span)
        if isinstance(node, ScalarNode):
            return ScalarNode(node.value, node.style, span)
        if isinstance(node, ListNode):
            return ListNode([self.node(item) for item in node.items], span, node.flow, node.weight)
        return MapNode([(self.node(key), self.node(value)) for key, value in node.pairs], span, node.flow, node.weight)


def _moved(span: Span, by: int) -> Span:
    return Span(span.start + by, span.end + by)
