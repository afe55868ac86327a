"""RandomOffChipLoad: tiles of a parameter off chip, at the places that a stream names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleSubject, TypingContext, need_inputs
from stepcore.ops.memory import OffChipTensor
from stepcore.ops.pace import OffChipUse, Pace, Premise, Read
from stepcore.ops.tiles import DISPATCH, ParameterPort, grid, need_addresses
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, Tile, as_shape

if TYPE_CHECKING:
    from torch import Tensor

    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class RandomOffChipLoad(ParameterPort, Operator):
    """Read the tiles of a parameter that a stream of addresses names."""

    tensor: OffChipTensor | Tensor
    tile: tuple[Dim | int, Dim | int] | list[Dim | int]
    dispatch: Dim | int | None = None

    summary: ClassVar[str] = "Reads the tiles of a parameter off chip that a stream of addresses names."
    rule: ClassVar[str] = (
        "shape of int64 or Tile(int64, [1, 1]) -> shape of Tile(T, tile), where tile divides the parameter's rows and "
        "columns"
    )
    details: ClassVar[str] = (
        "An address is the number of a tile: a parameter with the sizes [C, R, ...] that is cut into tiles of r rows "
        "and c columns is a grid [C//c, R//r, ...], numbered row by row from 0. An address outside of it is an error "
        "of the run. Each address is off-chip traffic, the same one again, too. LinearOffChipLoad reads places that "
        "are known beforehand."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M, N


def rows(where: torch.Tensor, x: torch.Tensor) -> torch.Tensor:  # where: (M,), x: (N, D)
    return x[where].unsqueeze(1)


@step.program(reference=rows, dims={M: 5, N: 7, D: 6}, data={"where": (0, 6)})
def gather(
    where: Annotated[step.Stream, step.i64, (M,)], *, x: Annotated[step.Param, step.f32, (D, N)]
) -> Annotated[step.Stream, step.Tile("fp32", [1, D]), (M,)]:
    return step.RandomOffChipLoad(tensor=x, tile=[1, D]).apply(where)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("tensor", ParamKind.MEMORY, "The parameter, by its name."),
        Param("tile", ParamKind.TILE, "Rows and columns of a tile; they must divide those of the parameter."),
    )
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, DISPATCH)
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,))
    off_chip: ClassVar[OffChipUse] = OffChipUse.LOADS
    generation: ClassVar[int] = 2
    premise: ClassVar[Premise] = Premise.MEMORY

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape of the addresses with tiles of the parameter's numbers."""
        need_inputs(self, operands, 1)
        need_addresses("RandomOffChipLoad", operands[0])
        memory, tile = self.memory, as_shape(self.tile)
        grid("RandomOffChipLoad", memory, tile, ctx, RuleSubject.param("tile"))
        return (StreamType(Tile(memory.scalar, tile), operands[0].type.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Read the tile of each address.

        Raises:
            RuleError: STEP227 where tiles do not divide the parameter.
            SimError: STEP413 for an address outside of the memory.
        """
        return (rt.load_at(self.memory, as_shape(self.tile), inputs[0]),)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume the addresses and return the stream of tiles."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
