"""How late streams are: which of those that are read in step would have to wait, and so need a buffer.

Each stream is a FIFO. Where two are read in step although one comes out of a fold of what the other holds, a whole
dimension has to stay in the FIFO; the simulator computes that, hardware stops. ``Late`` maps each stream that another
was computed from to the number of innermost dimensions within which the two are not in step: an element comes when
that many dimensions of the former have passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from stepcore.graph.typed import TypedGraph, TypedNode

Late: TypeAlias = Mapping[int, int]
_IN_STEP: Final = frozenset({"Map", "Zip", "RepeatRef"})


def folded(late: Late, dims: int) -> Late:
    """Return the lateness when the innermost ``dims`` dimensions are gone."""
    return {root: max(0, dimensions - dims) for root, dimensions in late.items()}


def unfolded(late: Late, dims: int) -> Late:
    """Return the lateness when there are ``dims`` more innermost dimensions."""
    return {root: dimensions + dims for root, dimensions in late.items()}


def inserted(late: Late, inner: int) -> Late:
    """Return the lateness when there is one more dimension outside the innermost ``inner``."""
    return {root: dimensions + (dimensions > inner) for root, dimensions in late.items()}


def merged(late: Late, rank: int) -> Late:
    """Return the lateness when neighbours became one dimension, so that ``rank`` are left."""
    return {root: min(dimensions, rank) for root, dimensions in late.items()}


def latest(lates: Iterable[Late]) -> Late:
    """Return the lateness of what is computed from several streams in step."""
    found: dict[int, int] = {}
    for late in lates:
        for root, dimensions in late.items():
            found[root] = max(dimensions, found.get(root, 0))
    return found


def wait(late: Late, others: Sequence[Late]) -> int:
    """Return how many dimensions of a stream have to wait for the others that it is read in step with."""
    behind = (other[root] for other in others for root, dimensions in late.items() if other.get(root, 0) > dimensions)
    return max(behind, default=0)


def waits(graph: TypedGraph) -> str:
    """Return the name of a stream that is read in step with a later one without a buffer, an empty text if none is.

    Partition and Merge keep their own order, so nothing is said about them.
    """
    late: dict[int, Late] = {index: {index: 0} for index in graph.inputs}
    for node in graph.nodes:
        found = [_shifted(node, graph, index, late[index]) for index in node.inputs]
        if node.op_name in _IN_STEP:
            for index, mine in zip(node.inputs, found, strict=True):
                if wait(mine, found):
                    return graph.streams[index].name
        joined = latest(found)
        for index in node.outputs:
            late[index] = {**joined, index: 0}
    return ""


def _rank(graph: TypedGraph, index: int) -> int:
    return len(graph.streams[index].type.shape)


def _shifted(node: TypedNode, graph: TypedGraph, index: int, late: Late) -> Late:
    """Return how late one input is in terms of the dimensions of the output."""
    before, after = _rank(graph, index), _rank(graph, node.outputs[0])
    match node.op_name:
        case "Accum" | "Bufferize":
            return folded(late, before - after)
        case "Repeat" | "Streamify" | "RepeatRef":
            return unfolded(late, after - before)
        case "Flatten":
            return merged(late, after)
        case "Promote":
            return inserted(late, node.op.param_values()["b"])
    return late


__all__ = ["Late", "folded", "inserted", "latest", "merged", "unfolded", "wait", "waits"]
