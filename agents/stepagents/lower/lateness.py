"""Streams that would have to wait for a later one: what a program needs buffers for.

Each stream is a FIFO. Where two are read in step although one comes out of a fold of what the other holds, a whole
dimension has to stay in the FIFO; the simulator computes that, hardware stops. Lateness is counted in innermost
dimensions, by the same rules as in the planner (:class:`stepagents.lower.program.Flow`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from stepcore.ir import Graph, Node

Late: TypeAlias = dict[int, int]  # stream -> innermost dimensions of it that have passed when an element comes
_IN_STEP: Final = frozenset({"Map", "Zip", "RepeatRef"})


def waits(graph: Graph) -> str:
    """Return the name of a stream that is read in step with a later one without a buffer, an empty text if none is.

    ``graph`` is complete and well typed. Partition and Merge keep their own order, so nothing is said about them.
    """
    late: dict[int, Late] = {index: {index: 0} for index in graph.inputs}
    for node in graph.nodes:
        found = [_shifted(node, graph, place, late[index]) for place, index in enumerate(node.inputs)]
        if node.op_name in _IN_STEP:
            early = _early(found)
            if early is not None:
                return graph.streams[node.inputs[early]].name
        joined = _latest(found)
        for index in node.outputs:
            late[index] = {**joined, index: 0}
    return ""


def _rank(graph: Graph, index: int) -> int:
    stream = graph.streams[index].type
    assert stream is not None, "a well-typed graph has the types of all its streams"
    return len(stream.shape)


def _shifted(node: Node, graph: Graph, place: int, late: Mapping[int, int]) -> Late:
    """Return how late one input is in terms of the dimensions of the output."""
    before, after = _rank(graph, node.inputs[place]), _rank(graph, node.outputs[0])
    match node.op_name:
        case "Accum" | "Bufferize" | "Flatten":
            less = before - after
            if node.op_name == "Flatten":
                return {root: min(dims, after) for root, dims in late.items()}
            return {root: max(0, dims - less) for root, dims in late.items()}
        case "Repeat" | "RepeatLast" | "Streamify" | "RepeatRef":
            return {root: dims + after - before for root, dims in late.items()}
    return dict(late)


def _early(found: Sequence[Mapping[int, int]]) -> int | None:
    """Return the place of an input that comes before another one with a common origin."""
    for place, late in enumerate(found):
        if any(other.get(root, 0) > dims for other in found for root, dims in late.items()):
            return place
    return None


def _latest(found: Sequence[Mapping[int, int]]) -> Late:
    joined: Late = {}
    for late in found:
        for root, dims in late.items():
            joined[root] = max(dims, joined.get(root, 0))
    return joined


__all__ = ["waits"]
