"""Copy: the only way to get two streams from one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, TypingContext, need_inputs
from stepcore.ops.calling import Group, One, Outputs
from stepcore.ops.pace import Pace, Read
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


@dataclass(frozen=True, kw_only=True)
class Copy(Operator):
    """Duplicate a stream."""

    summary: ClassVar[str] = "Duplicates a stream, because each stream can be consumed only once."
    rule: ClassVar[str] = "shape of T -> two streams, each shape of T"
    details: ClassVar[str] = "Streams are hardware FIFOs, drained once. For three streams, copy one of the copies."
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.STuple((step.f32, step.f32)), output=step.f32)
def multiply(input):
    return [input[0] * input[1]]


def squares(x: torch.Tensor) -> torch.Tensor:  # x: (N, M)
    return x * x


@step.program(reference=squares, dims={M: 5, N: 7})
def square_all(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    E1, E2 = step.Copy().apply(E0)
    return step.Map(fn=multiply).apply((E1, E2))
"""
    outputs: ClassVar[Outputs] = Outputs(Group((One("first"), One("second"))), more="copy one of the two again")
    instead: ClassVar[str] = "copy one of its two streams again"
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,))

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the input's type twice."""
        need_inputs(self, operands, 1)
        return (operands[0].type, operands[0].type)  # pragma: no mutate: both are the same

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Return the same data twice; data are immutable."""
        return (inputs[0], inputs[0])  # pragma: no mutate: both are the same

    def apply(self, input: Stream, name: str = "") -> tuple[Stream, Stream]:
        """Consume ``input`` and return two streams like it."""
        pair: tuple[Stream, Stream] = Operator.execute(self, input, name)
        return pair
