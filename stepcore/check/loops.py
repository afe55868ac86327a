"""Loops of a graph that cannot run: what closes them comes from elsewhere, or nothing ever comes in first."""

from __future__ import annotations

from collections.abc import Iterator

from stepcore.findings.diagnostics import Diagnostic
from stepcore.graph.ir import Graph, Node
from stepcore.graph.loops import FeedbackEnd
from stepcore.ops import misloops
from stepcore.ops.pace import LoopPart, Routing


def loop_diagnostics(graph: Graph, operator: str) -> Iterator[Diagnostic]:
    """Yield a finding for each loop that is no cycle, or waits for ever; ``operator`` is how EagerMerge is written.

    A loop begins when a chunk closes it that needs none of its own. EagerMerge takes whatever is there, what a selector
    brings together may need no chunk of a branch, and all other operators wait for all that they read.
    """
    ends = [node for node in graph.nodes if isinstance(node.op, FeedbackEnd) and node.inputs]
    begins = _streams_that_begin(graph, ends)
    for node in ends:
        assert isinstance(node.op, FeedbackEnd), "an end"
        (index,) = node.inputs
        name = graph.streams[index].name or "what closes it"
        if not _leads(graph, node.op.source, index):
            told = misloops.from_elsewhere(graph.streams[index].name)
            yield Diagnostic(told.code, node.input_spans[0], told.text)
        elif index not in begins:
            text = f"this loop waits for ever: {name} comes only after what comes back, and nothing comes in first"
            yield Diagnostic("STEP229", node.span, f"{text}; join it with what is new: {operator}().apply([NEW, LOOP])")
            return  # others may wait for this one


def _leads(graph: Graph, source: int, target: int) -> bool:
    """Return whether ``target`` is made of ``source``."""
    reached = {source}
    for node in graph.nodes:  # in an order in which they can run
        if not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
    return target in reached


def _streams_that_begin(graph: Graph, ends: list[Node]) -> set[int]:
    """Return the streams that may have a chunk before anything came back by a loop that waits for itself."""
    begins = set(graph.inputs)
    while True:
        before = len(begins)
        for node in graph.nodes:
            if _may_begin(node, begins):
                begins.update(node.outputs)
        begins.update(end.op.source for end in ends if isinstance(end.op, FeedbackEnd) and end.inputs[0] in begins)
        if len(begins) == before:
            return begins


def _may_begin(node: Node, begins: set[int]) -> bool:
    op = node.op
    if op is None:
        return True  # a finding says what is wrong with it
    if op.looping is LoopPart.BEGINS:
        return False
    if op.routes is Routing.ARRIVES:
        return not begins.isdisjoint(node.inputs)
    if op.routes in (Routing.JOINS, Routing.GATHERS):
        return node.inputs[-1] in begins
    return begins.issuperset(node.inputs)
