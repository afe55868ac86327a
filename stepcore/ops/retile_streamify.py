"""RetileStreamify: rows or columns of tiles follow each other in a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, TypingContext, need_inputs
from stepcore.ops.pace import Pace, Premise, Read
from stepcore.ops.tiles import AXES, need_axis, need_tile
from stepcore.types import Shape, StreamType, Tile, merged_size

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class RetileStreamify(Operator):
    """Take tiles apart into their rows or columns."""

    axis: int

    summary: ClassVar[str] = "Takes tiles apart: their rows or columns follow each other in the innermost dimension."
    rule: ClassVar[str] = (
        "shape of Tile(T, [r, c]) -> [shape[0]*r] + shape[1:] of Tile(T, [1, c]) for axis 0, "
        "[shape[0]*c] + shape[1:] of Tile(T, [r, 1]) for axis 1"
    )
    details: ClassVar[str] = "The way back from Retile, where that joined single rows or columns."
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M


def rows(x: torch.Tensor) -> torch.Tensor:  # x: (M, K, 2, D)
    return x.reshape(x.shape[0], -1, 1, x.shape[3])


@step.program(reference=rows, dims={D: 3, K: 4, M: 5})
def take_rows(
    E0: Annotated[step.Stream, step.Tile("fp32", [2, D]), (K, M)],
) -> Annotated[step.Stream, step.Tile("fp32", [1, D]), (2 * K, M)]:
    return step.RetileStreamify(axis=0).apply(E0)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("axis", ParamKind.INTEGER, "0 takes tiles apart into rows, 1 into columns.", choices=AXES),
    )
    pace: ClassVar[Pace | None] = Pace((Read.SPREAD,))
    generation: ClassVar[int] = 2
    premise: ClassVar[Premise] = Premise.TILES

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return a longer innermost dimension of single rows or columns."""
        need_inputs(self, operands, 1)
        need_axis("RetileStreamify", self.axis)
        tile, (inner, *outer) = need_tile("RetileStreamify", operands[0]), operands[0].type.shape
        return (StreamType(self._part(tile), (merged_size((tile.shape[self.axis], inner), outermost=False), *outer)),)

    def _part(self, tile: Tile) -> Tile:
        rows, columns = tile.shape
        return Tile(tile.scalar, (1, columns) if self.axis == 0 else (rows, 1))

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Let rows or columns follow each other."""
        data = inputs[0]
        assert isinstance(data.element, Tile), "the typing rule refuses others"
        return (data.split_tiles(self.axis, self._part(data.element)),)

    def rounds(self, inputs: Sequence[StreamType], output: StreamType, slot: int) -> Shape:
        """Return how many parts a tile has."""
        tile = inputs[0].element
        assert isinstance(tile, Tile), "the typing rule refuses others"
        return (tile.shape[self.axis],)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream of rows or columns."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
