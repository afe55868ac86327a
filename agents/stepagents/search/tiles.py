"""Moves of generation 2: tiles that parameters off chip are read in, tiles joined and cut, branches put side by side.

Types say what may be read: a tile is read off chip where some function takes it, or an output holds it, and it divides
the parameter. Along a dimension that a function's other arguments have, it is read again (a stride of 0). Not searched
are stores, dynamic tiles (functions of any size), FlatMap, padding, EagerMerge, Parallelize, buffers of tiles beyond
those that repeat a stream, and orders of reading other than by rows or columns of tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final

from stepagents.search.costs import CostModel, Key
from stepagents.search.items import SearchStream, is_open
from stepagents.search.space import Space
from stepcore.ops.base import Operator, RuleError, TypingContext
from stepcore.ops.flatten import Flatten
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import Element, Scalar, Shape, Tile

# What these moves cost, in nats, beside the operators of the table that published tasks were tuned on.
TILE_COSTS: Final[Mapping[Key, float]] = {
    ("LinearOffChipLoad",): 0.4,
    ("RandomOffChipLoad",): 1.5,
    ("Retile",): 1.5,
    ("RetileStreamify",): 2.5,
    ("Reassemble",): 0.6,
}
_MOST_CUT: Final = 4  # axes of one tensor
_NUMBER: Final = Scalar("int64")

Move = tuple[float, str, tuple[Operator, ...]]


def wanted_tiles(space: Space) -> list[Tile]:
    """Return the tiles that some function takes or an output holds."""
    return sorted((element for element in space.wanted if isinstance(element, Tile)), key=str)


def loads(space: Space) -> Iterator[Operator]:
    """Yield the reads of whole parameters off chip: by rows of tiles, and by columns."""
    tiles = wanted_tiles(space)
    if not tiles:
        return
    from stepcore.ops.linear_off_chip_load import LinearOffChipLoad  # most tasks have no tiles

    context = TypingContext(dict(space.bindings))
    for memory in space.spec.off_chip().values():
        for tile in tiles:
            if tile.scalar != memory.scalar:
                continue
            whole = LinearOffChipLoad(tensor=memory, tile=list(tile.shape))
            try:
                ((_, grid),) = ((kind.element, kind.shape) for kind in whole.infer([], context))
            except (RuleError, DimError):
                continue
            for shape, stride in _orders(grid):
                yield LinearOffChipLoad(tensor=memory, tile=list(tile.shape), shape=shape, stride=stride)


def _orders(grid: Shape) -> Iterator[tuple[Shape, Shape]]:
    """Yield shapes and strides that read each tile of a grid once, dimensions of 1 left out."""
    strides: list[Dim] = []
    step = Dim.of(1)
    for size in grid:
        strides.append(step)
        step = size * step
    kept = [(size, stride) for size, stride in zip(grid, strides, strict=True) if size != 1] or [(grid[0], strides[0])]
    yield _sizes(kept)
    if len(kept) == 2:
        yield _sizes(kept[::-1])


def _sizes(kept: Sequence[tuple[Dim, Dim]]) -> tuple[Shape, Shape]:
    return tuple(size for size, _ in kept), tuple(stride for _, stride in kept)


def read_again(load: Operator, positions: Sequence[int], target: Shape) -> Operator:
    """Return a load whose tiles are read again along the dimensions of ``target`` that its shape lacks."""
    strides = dict(zip(positions, load.param_values()["stride"], strict=True))
    values = load.param_values() | {
        "shape": target,
        "stride": tuple(strides.get(i, Dim.of(0)) for i in range(len(target))),
    }
    return type(load)(**values)


def are_cut(sizes: Sequence[int], axes: Sequence[int]) -> bool:
    """Return whether a tensor with these axes can be cut so that so many tiles are along each of some axes."""
    if not 0 < len(sizes) <= min(len(axes), _MOST_CUT):
        return False
    chosen = permutations(axes, len(sizes))
    return any(all(axis % size == 0 for axis, size in zip(each, sizes, strict=True)) for each in chosen)


def tile_moves(item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    """Yield the moves on one stream of tiles or addresses, as :func:`stepagents.search.unary.layout_moves` does."""
    element, shape = item.element, item.shape
    if isinstance(element, Tile):
        yield from _retiled(element, shape, space, costs)
    elif element == _NUMBER and any(isinstance(each, Tile) for each in space.wanted):
        yield from _random(space, costs)


def _retiled(tile: Tile, shape: Shape, space: Space, costs: CostModel) -> Iterator[Move]:
    from stepcore.ops.retile import Retile
    from stepcore.ops.retile_streamify import RetileStreamify

    (rows, columns), scalar = tile.shape, tile.scalar
    if len(shape) > 1 and not is_open(shape[0]):
        for axis, joined in enumerate(
            (Tile(scalar, (shape[0] * rows, columns)), Tile(scalar, (rows, shape[0] * columns)))
        ):
            yield costs("Retile") + _unwanted(joined, space, costs), "Retile", (Retile(axis=axis),)
    for axis, cut in enumerate((Tile(scalar, (Dim.of(1), columns)), Tile(scalar, (rows, Dim.of(1))))):
        if cut != tile:
            yield (
                costs("RetileStreamify") + _unwanted(cut, space, costs),
                "RetileStreamify",
                (RetileStreamify(axis=axis),),
            )


def _unwanted(tile: Element, space: Space, costs: CostModel) -> float:
    return 0.0 if space.wants(tile) else costs("not wanted")


def _random(space: Space, costs: CostModel) -> Iterator[Move]:
    from stepcore.ops.random_off_chip_load import RandomOffChipLoad

    for memory in space.spec.off_chip().values():
        for tile in wanted_tiles(space):
            if tile.scalar == memory.scalar:
                yield (
                    costs("RandomOffChipLoad"),
                    "RandomOffChipLoad",
                    (RandomOffChipLoad(tensor=memory, tile=list(tile.shape)),),
                )


def side_by_side(common: Shape) -> tuple[Operator, ...]:
    """Return how branches of which each position has one become one stream: put back, the dimension of 1 merged."""
    from stepcore.ops.reassemble import Reassemble

    return Reassemble(onehot=True), Flatten(L=(len(common) + 1,))
