"""Copy: the only way to get two streams from one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.calling import Many, Outputs
from stepcore.ops.pace import Pace, Read
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Copy(Operator):
    """Duplicate a stream."""

    n: int = 2

    summary: ClassVar[str] = "Duplicates a stream, because each stream can be consumed only once."
    rule: ClassVar[str] = "shape of T -> n streams, each shape of T, where n >= 2"
    details: ClassVar[str] = "Streams are hardware FIFOs, drained once."
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
    published: ClassVar[tuple[str, ...]] = ("Broadcast",)
    params: ClassVar[tuple[Param, ...]] = (
        Param("n", ParamKind.INTEGER, "How many streams it gives, at least two.", generation=2),
    )
    outputs: ClassVar[Outputs] = Outputs(Many("copy", 2, "n"), more="say how many: Copy(n=3)")
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,))
    passes: ClassVar[bool] = True

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the input's type for each copy."""
        need_inputs(self, operands, 1)
        if self.n < 2:
            text = f"n of Copy is {self.n}, and a copy makes two streams or more; leave Copy out"
            raise RuleError("STEP206", text, RuleSubject.param("n"))
        return (operands[0].type,) * self.n

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Return the same data for each; data are immutable."""
        return (inputs[0],) * self.n

    def apply(self, input: Stream, name: str = "") -> tuple[Stream, ...]:
        """Consume ``input`` and return so many streams like it."""
        copies: tuple[Stream, ...] = Operator.execute(self, input, name)
        return copies
