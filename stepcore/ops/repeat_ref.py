"""RepeatRef: each element as often as a second stream says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import (
    Operand,
    Operator,
    RuleError,
    RuleSubject,
    TypingContext,
    mismatch,
    need_inputs,
    repeated_bytes,
)
from stepcore.ops.calling import Inputs, pair
from stepcore.ops.pace import Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, same_shape, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class RepeatRef(Operator):
    """Repeat each element along the innermost dimension of a reference stream."""

    summary: ClassVar[str] = "Repeats each element along the innermost dimension of a reference stream."
    rule: ClassVar[str] = "(data of T, ref) -> ref.shape of T, where ref.shape[1:] == data.shape"
    details: ClassVar[str] = "Only the shape of the reference matters; its values are drained and dropped."
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


def spread(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # x: (N,), y: (N, M)
    return x.unsqueeze(-1).expand_as(y)


@step.program(reference=spread, dims={M: 5, N: 7})
def repeat_as(
    E0: Annotated[step.Stream, step.f32, (N,)], E1: Annotated[step.Stream, step.f32, (M, N)]
) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.RepeatRef().apply((E0, E1))
"""
    inputs: ClassVar[Inputs] = pair("REF")
    pace: ClassVar[Pace | None] = Pace((Read.REPEATED, Read.TAKEN))

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the reference's shape with the data's element."""
        need_inputs(self, operands, 2)
        data, ref = operands[0].type, operands[1].type
        if not same_shape(ref.shape[1:], data.shape, ctx.facts):
            what = (
                f"RepeatRef takes (data, ref), and {operands[1].name} (shape {shape_text(ref.shape)}) without its "
                f"innermost dimension must have the shape of {operands[0].name}"
            )
            raise RuleError("STEP207", mismatch(what, data.shape, ref.shape[1:], ctx.facts), RuleSubject.input(1))
        return (StreamType(data.element, ref.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Insert the reference's innermost dimension."""
        return (rt.insert(inputs[0], 0, inputs[1].sizes[0]),)

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return the size of the tile that is repeated."""
        return repeated_bytes(outputs[0].element)

    def apply(self, input: tuple[Stream, Stream], name: str = "") -> Stream:
        """Consume data and reference and return the repeated data."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
