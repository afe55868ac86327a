"""Retile: the innermost dimension of a stream becomes rows or columns of its tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, TypingContext, need_inputs
from stepcore.ops.functions import need_folded
from stepcore.ops.open_sizes import need_not_ragged
from stepcore.ops.pace import Pace, Premise, Read
from stepcore.ops.tiles import AXES, need_axis, need_tile
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, Tile, element_bytes

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Retile(Operator):
    """Join the tiles of the innermost dimension to one."""

    axis: int

    summary: ClassVar[str] = "Joins the tiles of the innermost dimension to one tile."
    rule: ClassVar[str] = (
        "shape of Tile(T, [r, c]) -> shape[1:] of Tile(T, [shape[0]*r, c]) for axis 0, of Tile(T, [r, shape[0]*c]) for "
        "axis 1, where R >= 1 and shape[0] is not ragged"
    )
    details: ClassVar[str] = (
        "With axis=0 the tiles come below each other, with axis=1 beside each other. One dimension must stay: to join "
        "all tiles, Promote first. RetileStreamify is the way back, to rows or columns."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M


def stacked(x: torch.Tensor) -> torch.Tensor:  # x: (M, K, 2, D)
    return x.flatten(1, 2)


@step.program(reference=stacked, dims={D: 3, K: 4, M: 5})
def stack(
    E0: Annotated[step.Stream, step.Tile("fp32", [2, D]), (K, M)],
) -> Annotated[step.Stream, step.Tile("fp32", [2 * K, D]), (M,)]:
    return step.Retile(axis=0).apply(E0)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param(
            "axis",
            ParamKind.INTEGER,
            "0 joins rows (tiles below each other), 1 columns (beside each other).",
            choices=AXES,
        ),
    )
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), folds=True)
    generation: ClassVar[int] = 2
    premise: ClassVar[Premise] = Premise.TILES

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the outer dimensions with larger tiles."""
        need_inputs(self, operands, 1)
        need_axis("Retile", self.axis)
        stream, tile = operands[0].type, need_tile("Retile", operands[0])
        need_folded("Retile", "", 1, operands[0])
        way_out = "all tiles of a stream have one shape"
        need_not_ragged("Retile", stream.shape[0], "an innermost dimension", way_out=way_out)
        return (StreamType(self._joined(tile, stream.shape[0]), stream.shape[1:]),)

    def _joined(self, tile: Tile, count: Dim | int) -> Tile:
        rows, columns = tile.shape
        return Tile(tile.scalar, (rows * count, columns) if self.axis == 0 else (rows, columns * count))

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Put the tiles beside each other."""
        data = inputs[0]
        assert isinstance(data.element, Tile), "the typing rule refuses others"
        return (data.join_tiles(self.axis, self._joined(data.element, data.sizes[0])),)

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return the size of the tile that is put together."""
        return element_bytes(outputs[0].element)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream of larger tiles."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
