"""Which branches selectors name: from a run, from selectors that are drawn, else every branch everywhere.

Partition and Merge go where selectors say, and how long that takes, only data tell. A functional run knows them all.
Without one, selectors that are inputs of the program are drawn as the task file says (``min`` to ``max`` ones, or
``data_gen``), with a seed of their own: the same in every run of the tool, not those of a run of the program. Where a
selector is computed, nobody knows it, and every chunk goes to every branch, an upper bound. One program is routed in
one of these ways: branches that are taken as full have to be joined by one that expects so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, Literal, TypeAlias

from stepcore.cycles.tokens import SizeLevels
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.pace import Routing
from stepcore.sizes.dim import DimError, product
from stepcore.types import Multihot

# For each position of a selector, in order of time, the branches whose bit is set, ascending.
Rows: TypeAlias = Sequence[tuple[int, ...]]
Source: TypeAlias = Literal["none", "run", "drawn", "every"]

MOST_ROWS: Final = 1 << 18  # that are drawn; longer selectors name every branch
_SEED: Final = 0
SAYINGS: Final[Mapping[Source, str]] = {
    "none": "",
    "run": "selectors are those of the run",
    "drawn": "selectors are drawn with a seed, as the task says: figures of other data differ",
    "every": "selectors are computed from data: every chunk goes to every branch, an upper bound",
}


@dataclass(frozen=True, slots=True)
class ProgramRoutes:
    """The branches of each selector that a program routes by, by its stream; ``source`` says where they come from.

    ``levels`` are the sizes of streams in a run, by stream, innermost first, where lists of a dimension differ in
    length; ``sizes`` are those that have one value in the run, by their texts. ``arrival`` is what arrival decided, by
    node: inputs of EagerMerge, lanes of Parallelize, branches of Reassemble, one after the other; where it ends, inputs
    come in ascending order, and lanes in turn. ``ran`` is the same of the run that ``rows`` and ``levels`` are from.
    """

    source: Source
    rows: Mapping[int, Rows] = field(default_factory=dict)
    levels: Mapping[int, SizeLevels] = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)
    arrival: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    ran: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


def selectors_of(graph: TypedGraph) -> list[int]:
    """Return the streams that are read as selectors of data: those that arrival makes are left out."""
    read = [node.inputs[-1] for node in graph.nodes if node.op.routes.by_selector]
    return [index for index in read if arrival_of(graph, index) is None]


def arrival_of(graph: TypedGraph, selector: int) -> TypedNode | None:
    """Return the node that decides what ``selector`` names, by arrival or in turn; None where data do."""
    origin = origin_of(graph, selector)
    producer = graph.streams[origin].producer
    node = None if producer is None else graph.nodes[producer]
    return node if node is not None and node.op.routes in (Routing.ARRIVES, Routing.DEALS) else None


def arrival_rows(node: TypedNode, arrival: Sequence[int], chunks: Sequence[int]) -> list[int]:
    """Return what a node decides: ``arrival`` as far as it is known, then inputs in ascending order, or lanes in turn.

    ``chunks`` are how many each input has, of Parallelize how many there are.
    """
    return (
        dealt(arrival, len(node.outputs) - 1, *chunks) if node.op.routes is Routing.DEALS else merged(arrival, chunks)
    )


def dealt(arrival: Sequence[int], lanes: int, chunks: int) -> list[int]:
    """Return the lane of each of ``chunks``: ``arrival`` as far as it is known, then in turn."""
    known = list(arrival[:chunks])
    return known + [chunk % lanes for chunk in range(len(known), chunks)]


def merged(arrival: Sequence[int], chunks: Sequence[int]) -> list[int]:
    """Return the input of each chunk that comes out, of inputs that have ``chunks``: what ``arrival`` says of them,
    then inputs in ascending order.
    """
    left = list(chunks)
    found: list[int] = []
    for place in (*arrival, *(place for place, count in enumerate(chunks) for _ in range(count))):
        if left[place]:
            left[place] -= 1
            found.append(place)
    return found


def gathered(arrival: Sequence[int], rows: Rows) -> list[tuple[int, int]]:
    """Return the position and the branch of each chunk that Reassemble takes: at each position the branches of its
    row, as ``arrival`` says, one position after the other; the rest of them in ascending order.
    """
    known = iter(arrival)
    found: list[tuple[int, int]] = []
    for position, row in enumerate(rows):
        left = list(row)
        while left:
            place = next(known, left[0])
            if place not in left:
                place = left[0]
            left.remove(place)
            found.append((position, place))
    return found


def routes_without_run(spec: ProgramSpec, graph: TypedGraph, bindings: Mapping[str, int]) -> ProgramRoutes:
    """Return drawn routes where every selector of ``graph`` is an input, else every branch."""
    selectors = selectors_of(graph)
    if not selectors:
        return ProgramRoutes("none")
    ports = dict(zip(graph.inputs, spec.inputs, strict=True))
    found: dict[int, Rows] = {}
    for selector in selectors:
        port = ports.get(origin_of(graph, selector))
        rows = None if port is None else _drawn(port, bindings)
        if rows is None:
            return ProgramRoutes("every")
        found[selector] = rows
    return ProgramRoutes("drawn", found)


def origin_of(graph: TypedGraph, index: int) -> int:
    """Return the stream that elements of ``index`` come from, all of them in this order: through Copy and shapes."""
    while (producer := graph.streams[index].producer) is not None:
        node = graph.nodes[producer]
        is_same = node.op.pace is not None and node.op.pace.hands_on and len(node.inputs) == 1
        if not is_same or _adds(graph, index, node.inputs[0]):
            break
        index = node.inputs[0]
    return index


def _adds(graph: TypedGraph, index: int, before: int) -> bool:
    """Return whether a stream holds other numbers of elements than the one before: padding."""
    after, first = (product(graph.streams[stream].type.shape) for stream in (index, before))
    return after != first


def _drawn(port: Port, bindings: Mapping[str, int]) -> Rows | None:
    """Draw the selectors of an input; None where they are too many, or drawn from what is no rule of ours."""
    element = port.type.element
    try:
        length = element.length.bind(bindings) if isinstance(element, Multihot) else 0
        count = product(port.type.shape).bind(bindings)
    except (DimError, KeyError):
        return None
    if not length or count * length > MOST_ROWS:
        return None
    rng = Random(f"{_SEED}.{port.name}")
    if port.data_gen == "binary":
        return [tuple(branch for branch in range(length) if rng.random() < 0.5) for _ in range(count)]
    if port.data_gen is not None:  # numbers that are not zero, but for one kind: all bits are set
        return [() if port.data_gen == "torch.zeros" else tuple(range(length))] * count
    most = min(length if port.maximum is None else port.maximum, length)
    least = min(port.minimum or 0, most)
    return [tuple(sorted(rng.sample(range(length), rng.randint(least, most)))) for _ in range(count)]
