"""LinearOffChipStore: tiles into a parameter off chip, one place after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleSubject, TypingContext, need_inputs
from stepcore.ops.calling import NO_OUTPUT, Outputs
from stepcore.ops.memory import OffChipTensor
from stepcore.ops.pace import OffChipUse, Pace, Premise, Read
from stepcore.ops.tiles import DISPATCH, ParameterPort, grid, need_inside, need_storable
from stepcore.sizes.dim import Dim, product
from stepcore.types import StreamType

if TYPE_CHECKING:
    from torch import Tensor

    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class LinearOffChipStore(ParameterPort, Operator):
    """Write the tiles of a stream into a parameter, one place after the other."""

    tensor: OffChipTensor | Tensor
    base: Dim | int = 0
    dispatch: Dim | int | None = None

    summary: ClassVar[str] = "Writes tiles into a parameter off chip, one place after the other."
    rule: ClassVar[str] = "shape of Tile(T, [r, c]) -> nothing; element k of the stream becomes tile base + k"
    details: ClassVar[str] = (
        "The parameter has to say that it may be written: written: true in a task, step.Param(written=True) in Python. "
        "Its tiles are numbered row by row, as LinearOffChipLoad has it; rows and columns of the stream's tiles divide "
        "those of the parameter. What the program leaves in it is one of its results: an entry of outputs with "
        "memory: NAME, in Python the reference gives it after the streams that are returned."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M


@step.fn(input=step.Tile("fp32", [4, D]), output=step.Tile("fp32", [4, D]))
def double(input):
    return [2 * input[0]]


def doubled(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # x, y: (M, D)
    return 2 * x


@step.program(reference=doubled, dims={M: 8, D: 6})
def double_rows(
    *, x: Annotated[step.Param, step.f32, (D, M)], y: Annotated[step.Param(written=True), step.f32, (D, M)]
) -> None:
    E0 = step.LinearOffChipLoad(tensor=x, tile=[4, D]).apply()
    step.LinearOffChipStore(tensor=y).apply(step.Map(fn=double).apply(E0))
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("tensor", ParamKind.MEMORY, "The parameter, by its name."),
        Param("base", ParamKind.OFFSET, "The number of the first tile."),
    )
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, DISPATCH)
    published: ClassVar[tuple[str, ...]] = ("OffChipStore",)
    outputs: ClassVar[Outputs] = NO_OUTPUT
    pace: ClassVar[Pace | None] = Pace((Read.KEPT,))
    off_chip: ClassVar[OffChipUse] = OffChipUse.STORES
    generation: ClassVar[int] = 2
    premise: ClassVar[Premise] = Premise.WRITTEN

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return nothing: the stream ends here."""
        need_inputs(self, operands, 1)
        memory = self.memory
        tile = need_storable("LinearOffChipStore", memory, operands[0])
        cut = grid("LinearOffChipStore", memory, tile.shape, ctx, RuleSubject.input(0))
        base, count = ctx.bound(Dim.of(self.base)), ctx.bound(product(operands[0].type.shape))
        places = ctx.bound(product(cut))
        if base is not None and count is not None and places is not None:
            need_inside("LinearOffChipStore", base, base + count - 1, places, f"the grid of {memory.name}")
        return ()

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Write all tiles."""
        rt.store(self.memory, rt.size(self.base), inputs[0])
        return ()

    def apply(self, input: Stream, name: str = "") -> None:
        """Consume ``input``."""
        Operator.execute(self, input, name)
