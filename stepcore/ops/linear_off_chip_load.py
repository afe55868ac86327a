"""LinearOffChipLoad: tiles of a parameter off chip, in an order that is known beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleSubject, TypingContext, need_inputs
from stepcore.ops.calling import NOTHING, Inputs, One
from stepcore.ops.memory import OffChipTensor
from stepcore.ops.pace import OffChipUse, Pace, Premise, Read
from stepcore.ops.tiles import DISPATCH, ParameterPort, affine, grid, optional_shape, places_of, sizes_of_grid
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, Tile, as_shape

if TYPE_CHECKING:
    from torch import Tensor

    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class LinearOffChipLoad(ParameterPort, Operator):
    """Read tiles of a parameter at places that are sums of counters times strides."""

    tensor: OffChipTensor | Tensor
    tile: tuple[Dim | int, Dim | int] | list[Dim | int]
    shape: tuple[Dim | int, ...] | list[Dim | int] | None = None
    stride: tuple[Dim | int, ...] | list[Dim | int] | None = None
    base: Dim | int = 0
    dispatch: Dim | int | None = None

    summary: ClassVar[str] = "Reads a parameter off chip tile by tile, in an order that is known beforehand."
    rule: ClassVar[str] = (
        "nothing, or ref -> shape + ref.shape of Tile(T, tile), where tile divides the parameter's rows and columns; "
        "tile base + sum(i_d*stride[d]) comes at the counters i_d, i_0 fastest"
    )
    details: ClassVar[str] = (
        "A parameter with the sizes [C, R, ...] that is cut into tiles of r rows and c columns is a grid "
        "[C//c, R//r, ...] of tiles, numbered row by row. Without shape the whole grid is read in this order; a stride "
        "of 0 reads the same tiles again. With an input, the read is made once for each of its elements, whose values "
        "are dropped. What it reads is off-chip traffic, each time."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M


@step.fn(input=(step.Tile("fp32", [4, D]), step.Tile("fp32", [D, K])), output=step.Tile("fp32", [4, K]))
def product(input):
    return [input[0] @ input[1]]


def by_weights(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:  # x: (M, D), w: (D, K)
    return (x @ w).reshape(-1, 1, 4, w.shape[1])


@step.program(reference=by_weights, dims={M: 8, D: 6, K: 3})
def multiply_rows(
    *, x: Annotated[step.Param, step.f32, (D, M)], w: Annotated[step.Param, step.f32, (K, D)]
) -> Annotated[step.Stream, step.Tile("fp32", [4, K]), (1, M // 4)]:
    E0 = step.LinearOffChipLoad(tensor=x, tile=[4, D]).apply()
    E1 = step.LinearOffChipLoad(tensor=w, tile=[D, K], shape=[1, M // 4], stride=[1, 0]).apply()
    return step.Map(fn=product).apply((E0, E1))
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("tensor", ParamKind.MEMORY, "The parameter, by its name."),
        Param("tile", ParamKind.TILE, "Rows and columns of a tile; they must divide those of the parameter."),
        Param("shape", ParamKind.SIZES, "How often each counter runs, innermost first; the whole grid unless given."),
        Param("stride", ParamKind.OFFSETS, "By how many tiles each counter goes on; in order unless given."),
        Param("base", ParamKind.OFFSET, "The number of the first tile."),
    )  # fmt: skip
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, DISPATCH)
    published: ClassVar[tuple[str, ...]] = ("OffChipLoad", "DynOffChipLoad")
    inputs: ClassVar[Inputs] = Inputs((NOTHING, One("ref", "REF")))
    pace: ClassVar[Pace | None] = Pace((Read.SPREAD,))
    off_chip: ClassVar[OffChipUse] = OffChipUse.LOADS
    generation: ClassVar[int] = 2
    premise: ClassVar[Premise] = Premise.MEMORY

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape of the read before that of the reference, and tiles of the parameter's numbers."""
        if operands:
            need_inputs(self, operands, 1)
        memory, tile = self.memory, as_shape(self.tile)
        cut = grid("LinearOffChipLoad", memory, tile, ctx, RuleSubject.param("tile"))
        given = (optional_shape(self.shape), optional_shape(self.stride))
        shape, _ = affine("LinearOffChipLoad", given, Dim.of(self.base), cut, f"the grid of {memory.name}", ctx)
        outer = operands[0].type.shape if operands else ()
        return (StreamType(Tile(memory.scalar, tile), shape + outer),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Cut the parameter into its grid of tiles and read that; a reference repeats it.

        Raises:
            RuleError: STEP227 where tiles do not divide the parameter, STEP228 where the read leaves the grid.
        """
        memory, tile = self.memory, as_shape(self.tile)
        cut = sizes_of_grid(memory.name, tuple(map(rt.size, memory.sizes)), tuple(map(rt.size, tile)))
        given = (self.shape, self.stride)
        places = places_of("LinearOffChipLoad", rt, given, self.base, cut, f"the grid of {memory.name}")
        tiles = rt.load(memory, tile, places)
        for size in reversed(inputs[0].sizes if inputs else ()):  # a ragged one needs those outside of it
            tiles = rt.insert(tiles, len(places.shape), size)
        return (tiles,)

    def apply(self, input: Stream | None = None, name: str = "") -> Stream:
        """Consume the reference, if there is one, and return the stream of tiles."""
        stream: Stream = Operator.execute(self, () if input is None else input, name)
        return stream
