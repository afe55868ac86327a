"""Zip: two streams as one stream of tuples."""

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
    shape_bridge,
)
from stepcore.ops.calling import Inputs, pair
from stepcore.ops.pace import Pace, Read
from stepcore.types import StreamType, join, same_shape

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Zip(Operator):
    """Join two streams of equal shape into one stream of flat tuples."""

    summary: ClassVar[str] = "Joins two streams of equal shape into one stream of tuples."
    rule: ClassVar[str] = "(shape of T, shape of U) -> shape of [T, U]"
    details: ClassVar[str] = "Tuples are joined flat: zipping the zip of a and b with c gives the components a, b, c."
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.STuple((step.f32, step.f32)), output=step.f32)
def multiply(input):
    return [input[0] * input[1]]


def products(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # x, y: (N, M)
    return x * y


@step.program(reference=products, dims={M: 5, N: 7})
def multiply_all(
    E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]
) -> Annotated[step.Stream, step.f32, (M, N)]:
    E2 = step.Zip().apply((E0, E1))
    return step.Map(fn=multiply).apply(E2)
"""
    inputs: ClassVar[Inputs] = pair("OTHER", chains=True)
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), joins=True)

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the common shape with the joined tuple."""
        need_inputs(self, operands, 2)
        left, right = operands[0].type, operands[1].type
        if not same_shape(left.shape, right.shape, ctx.facts):
            what = f"Zip needs equal shapes, but {operands[1].name} differs from {operands[0].name}"
            text = mismatch(what, left.shape, right.shape, ctx.facts) + shape_bridge(left.shape, right.shape)
            raise RuleError("STEP207", text, RuleSubject.input(1))
        return (StreamType(join((left.element, right.element)), left.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Put the components beside each other; no data moves."""
        return (rt.zip(inputs),)

    def apply(self, input: tuple[Stream, Stream], name: str = "") -> Stream:
        """Consume both streams and return the stream of tuples."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
