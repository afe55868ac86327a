"""How much of each tensor a program reads: tiles of other sizes must read the same, however their reads are written."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Final

from stepcore.graph.typed import TypedGraph
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.sizes.dim import Dim, DimError

_MOST: Final = 1 << 15  # tiles that are counted


def reads_as_much(one: TypedGraph, other: TypedGraph, sizes: Mapping[str, int]) -> bool:
    """Whether two graphs, at these sizes, read equally many elements of each tensor, load by load.

    What nobody knows, or would take long to count, is taken for equal, and so are programs with other loads.
    """
    before, after = (_loads(graph) for graph in (one, other))
    if [each.memory.name for each in before] != [each.memory.name for each in after]:
        return True
    pairs = ((_elements(old, sizes), _elements(new, sizes)) for old, new in zip(before, after, strict=True))
    return all(None in pair or pair[0] == pair[1] for pair in pairs)


def _loads(graph: TypedGraph) -> list[LinearOffChipLoad]:
    return [node.op for node in graph.nodes if isinstance(node.op, LinearOffChipLoad)]


def _elements(load: LinearOffChipLoad, sizes: Mapping[str, int]) -> int | None:
    """Return how many elements of its tensor a load reads, each counted once; None where that is not known."""
    try:
        if load.shape is None:
            return prod(size.bind(sizes) for size in load.memory.sizes)
        shape = [Dim.of(size).bind(sizes) for size in load.shape]
        strides = None if load.stride is None else [Dim.of(step).bind(sizes) for step in load.stride]
        tile = prod(Dim.of(size).bind(sizes) for size in load.tile)
    except DimError:
        return None
    if strides is None:
        return prod(shape) * tile
    moving = [(size, step) for size, step in zip(shape, strides, strict=False) if step]
    if prod(size for size, _ in moving) > _MOST:
        return None
    places = {0}
    for size, step in moving:
        places = {place + number * step for place in places for number in range(size)}
    return len(places) * tile
