"""RandomOffChipStore: tiles into a parameter off chip, at the places that a stream names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.calling import Group, Inputs, One
from stepcore.ops.memory import OffChipTensor
from stepcore.ops.pace import OffChipUse, Pace, Premise, Read
from stepcore.ops.tiles import DISPATCH, ParameterPort, grid, need_addresses, need_storable
from stepcore.sizes.dim import Dim
from stepcore.types import Scalar, StreamType, element_count, shape_text

if TYPE_CHECKING:
    from torch import Tensor

    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class RandomOffChipStore(ParameterPort, Operator):
    """Write the tiles of a stream into a parameter, each where its address says."""

    tensor: OffChipTensor | Tensor
    dispatch: Dim | int | None = None

    summary: ClassVar[str] = "Writes tiles into a parameter off chip, each to the place that its address names."
    rule: ClassVar[str] = (
        "(addresses of int64 or Tile(int64, [1, 1]), tiles of Tile(T, [r, c])) -> addresses.shape of bool, where there "
        "are as many tiles as addresses"
    )
    details: ClassVar[str] = (
        "Tile k of the stream goes to address k, whatever the shapes of the two streams; an address is the number of a "
        "tile of the parameter, row by row from 0. Of two tiles for one address the later one stays. An element of the "
        "result is true, and comes when its tile is written: a load or store that depends on it comes after. The "
        "parameter has to say that it may be written: written: true in a task, step.Param(written=True) in Python."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M, N


def scattered(where: torch.Tensor, rows: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # rows: (M, 1, D)
    y = y.clone()
    for place, row in zip(where, rows):
        y[place] = row[0]
    return y


@step.program(reference=scattered, dims={M: 5, N: 7, D: 6}, data={"where": (0, 6)})
def scatter(
    where: Annotated[step.Stream, step.i64, (M,)],
    rows: Annotated[step.Stream, step.Tile("fp32", [1, D]), (M,)],
    *,
    y: Annotated[step.Param(written=True), step.f32, (D, N)],
) -> None:
    step.RandomOffChipStore(tensor=y).apply((where, rows))
"""
    params: ClassVar[tuple[Param, ...]] = (Param("tensor", ParamKind.MEMORY, "The parameter, by its name."),)
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, DISPATCH)
    inputs: ClassVar[Inputs] = Inputs((Group((One("addresses", "ADDRESSES"), One("tiles", "TILES"))),))
    pace: ClassVar[Pace | None] = Pace((Read.KEPT, Read.KEPT))
    off_chip: ClassVar[OffChipUse] = OffChipUse.STORES
    ends_unread: ClassVar[bool] = True
    generation: ClassVar[int] = 2
    premise: ClassVar[Premise] = Premise.WRITTEN

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape of the addresses with flags."""
        need_inputs(self, operands, 2)
        addresses, tiles = operands
        need_addresses("RandomOffChipStore", addresses)
        tile = need_storable("RandomOffChipStore", self.memory, tiles, 1)
        grid("RandomOffChipStore", self.memory, tile.shape, ctx, RuleSubject.input(1))
        if not ctx.facts.equal(element_count(addresses.type.shape), element_count(tiles.type.shape)):
            text = (
                f"RandomOffChipStore takes a tile for each address, and {addresses.name} has the shape "
                f"{shape_text(addresses.type.shape)}, {tiles.name} {shape_text(tiles.type.shape)}"
            )
            raise RuleError("STEP207", text, RuleSubject.input(1))
        return (StreamType(Scalar("bool"), addresses.type.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Write all tiles.

        Raises:
            RuleError: STEP227 where tiles do not divide the parameter.
            SimError: STEP413 for an address outside of the memory, STEP417 for a place that was stored without order.
        """
        return (rt.store_at(self.memory, *inputs),)

    def apply(self, input: tuple[Stream, Stream], name: str = "") -> Stream:
        """Consume addresses and tiles and return the acknowledgements."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
