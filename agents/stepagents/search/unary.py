"""Moves on one stream that change its layout only, with what they cost."""

from __future__ import annotations

from collections.abc import Iterator

from stepagents.search.costs import CostModel
from stepagents.search.items import SearchStream, is_open
from stepagents.search.space import MAX_RANK, Space
from stepcore.ops.base import Operator
from stepcore.ops.bufferize import Bufferize
from stepcore.ops.flatten import Flatten
from stepcore.ops.promote import Promote
from stepcore.ops.repeat import Repeat
from stepcore.ops.reshape import Reshape
from stepcore.ops.streamify import Streamify
from stepcore.sizes.dim import Dim, product
from stepcore.types import Buffer, Multihot, Shape, STuple, Tile

Move = tuple[float, str, tuple[Operator, ...]]


def layout_moves(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    """Yield cost, name and operators of every move; the cost is that of the move alone."""
    yield from _buffers(item, space, costs)
    rank = len(item.shape) - 1
    if rank < MAX_RANK:
        yield from _promotions(item, costs)
        yield from _repetitions(item, space, costs)
        yield from _splits(item, space, costs)
    yield from _merges(item, space, costs)


def _buffers(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    element, shape = item.element, item.shape
    if isinstance(element, Buffer) and len(shape) + len(element.shape) <= MAX_RANK + 1:
        extra = 0.0 if space.wants(element.element) else costs("not wanted")
        context = "selectors" if isinstance(element.element, Multihot) else item.move
        yield costs("Streamify", context) + extra, "Streamify", (Streamify(),)
        yield from _rebuffered(item, space, costs)
    if isinstance(element, STuple | Tile):
        return
    for count in range(1, len(shape) + 1):
        sizes = shape[:count]
        if any(is_open(size) for size in sizes):
            break
        held = Buffer(element.element, element.shape + sizes) if isinstance(element, Buffer) else Buffer(element, sizes)
        extra = 0.0 if held in space.wanted else costs("not wanted")
        if count < len(shape):
            yield costs("Bufferize", item.move) + extra, "Bufferize", (Bufferize(a=count),)
        else:
            ops = (Promote(b=count), Bufferize(a=count))
            yield costs("BufferizeAll", item.move) + extra, "BufferizeAll", ops


def _rebuffered(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    """Opening buffers and closing them elsewhere, as one move where something takes the result."""
    element = item.element
    assert isinstance(element, Buffer)
    opened = element.shape + item.shape
    for count in range(1, len(opened)):
        if count == len(element.shape) or any(is_open(size) for size in opened[:count]):
            continue
        if Buffer(element.element, opened[:count]) in space.wanted:
            yield costs("Rebuffer", item.move), "Rebuffer", (Streamify(), Bufferize(a=count))


def _promotions(item: SearchStream, costs: CostModel) -> Iterator[Move]:
    for place in range(len(item.shape) + 1):
        yield costs("Promote", item.move), "Promote", (Promote(b=place),)


def _repetitions(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    for size in sorted(space.stream_sizes, key=str):
        if size.constant != 1:
            extra = 0.0 if size not in item.shape else 1.0
            yield costs("Repeat", item.move) + extra, "Repeat", (Repeat(n=size),)


def _merges(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    shape = item.shape
    for first in range(1, len(shape)):
        for last in range(first, len(shape)):
            merged = shape[first - 1 : last + 1]
            if any(is_open(size) for size in merged):
                continue
            name = flatten_name(merged, space)
            yield costs(name, item.move), name, (Flatten(L=tuple(range(first, last + 1))),)


def flatten_name(merged: Shape, space: Space) -> str:
    """Return the move that merging these sizes is."""
    if sum(size.constant != 1 for size in merged) <= 1:
        return "FlattenOne"
    return "FlattenKnown" if product(merged) in space.sizes else "Flatten"


def _splits(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    for index, size in enumerate(item.shape):
        if is_open(size) or size.constant == 1:
            continue
        for chunk in sorted(space.sizes, key=str):
            if _divides(chunk, size, space):
                name = reshape_name(size, chunk, space)
                yield costs(name, item.move), name, (Reshape(S=chunk, L=(index,)),)


def reshape_name(size: Dim, chunk: Dim, space: Space) -> str:
    """Return the move that splitting ``size`` into chunks is."""
    return "ReshapeKnown" if size // chunk in space.sizes else "Reshape"


def _divides(chunk: Dim, size: Dim, space: Space) -> bool:
    if chunk == size or is_open(chunk):
        return False
    part, whole = chunk.bind(space.bindings), size.bind(space.bindings)
    return 1 < part < whole and whole % part == 0
