"""Flatten: neighbouring dimensions become one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.pace import Pace, Read
from stepcore.types import StreamType, merged_size, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Flatten(Operator):
    """Merge the dimensions ``L[0]-1 .. L[-1]`` into one."""

    L: Sequence[int]

    summary: ClassVar[str] = "Merges neighbouring dimensions into one."
    rule: ClassVar[str] = (
        "shape -> dimensions L[0]-1 .. L[-1] become one whose size is their product; a ragged size is absorbed, its "
        "sum over the positions of the others"
    )
    details: ClassVar[str] = (
        "Each index in L merges that dimension with the one inside it, so L=[1] merges the two innermost dimensions "
        "and the rank falls by the length of L. The order of the elements stays."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


def in_one_row(x: torch.Tensor) -> torch.Tensor:  # x: (N, M)
    return x.reshape(-1)


@step.program(reference=in_one_row, dims={M: 5, N: 7})
def flatten(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M * N,)]:
    return step.Flatten(L=[1]).apply(E0)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param(
            "L",
            ParamKind.INDICES,
            "Consecutive indices from 1 to the rank; dimension i is merged with dimension i-1 for each i in L.",
        ),
    )
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), regroups=True)

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape with the product in place of the merged sizes."""
        need_inputs(self, operands, 1)
        stream, subject = operands[0].type, RuleSubject.param("L")
        if not self.L:
            raise RuleError("STEP218", "L of Flatten names no dimension; give indices such as L=[1]", subject)
        first, last = self.L[0], self.L[-1]
        if tuple(self.L) != tuple(range(first, first + len(self.L))):
            text = f"L of Flatten must be consecutive, ascending indices such as [1, 2], found {list(self.L)}"
            raise RuleError("STEP218", text, subject)
        if first < 1 or last > stream.rank:
            found = f"{operands[0].name} has rank {stream.rank} (shape {shape_text(stream.shape)})"
            hint = "; index i merges dimension i with i-1" if first == 0 else ""
            if first == 0 and 0 < last <= stream.rank:
                hint += f", so L={list(self.L[1:])} merges dimensions 0 to {last}"
            text = f"indices of Flatten must lie from 1 to the rank, found {list(self.L)}, but {found}{hint}"
            raise RuleError("STEP218", text, subject)
        shape, start = stream.shape, first - 1
        size = merged_size(shape[start : last + 1], outermost=last == stream.rank)
        return (StreamType(stream.element, (*shape[:start], size, *shape[last + 1 :])),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Merge the dimensions; a view."""
        return (inputs[0].merge_dims(self.L[0] - 1, self.L[-1]),)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream of lower rank."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
