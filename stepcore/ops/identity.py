"""Identity: a stream as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, TypingContext, need_inputs
from stepcore.ops.pace import Pace, Read
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Identity(Operator):
    """Pass a stream on."""

    summary: ClassVar[str] = "Passes a stream on unchanged."
    rule: ClassVar[str] = "shape of T -> shape of T"
    details: ClassVar[str] = "Useful as a branch that does nothing, between Partition and Merge."
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M


def same(x: torch.Tensor) -> torch.Tensor:  # x: (M,)
    return x


@step.program(reference=same, dims={M: 5})
def pass_on(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Identity().apply(E0)
"""
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,))
    passes: ClassVar[bool] = True

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the input's type."""
        need_inputs(self, operands, 1)
        return (operands[0].type,)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Return the input."""
        return (inputs[0],)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return it as a new stream."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
