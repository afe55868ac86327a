"""Promote: a new dimension of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.pace import Chunking, Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Promote(Operator):
    """Insert a dimension of size 1 at index ``b``."""

    b: int

    keeps_empty: ClassVar[bool] = False  # True of one that its use settled: outermost, on a size that a run knows
    summary: ClassVar[str] = "Inserts a dimension of size 1."
    rule: ClassVar[str] = (
        "shape -> shape[:b] + [1] + shape[b:], where 0 <= b <= R+1; b = R+1 on a dynamic size X inserts one(X)"
    )
    details: ClassVar[str] = (
        "b=0 makes it the innermost dimension, b=R+1 the outermost. It serves as the placeholder that Accum and "
        "Bufferize need when they take all dimensions; Flatten removes it again. Where only the data decide the "
        "outermost size X, the new outermost one is one(X), 1 if X is more than 0, else 0: empty stays empty. A stream "
        "to which only generation 1 led, a branch of scalars, say, gets 1, as published."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def total(x: torch.Tensor) -> torch.Tensor:  # x: (M,)
    return x.sum(0, keepdim=True)


@step.program(reference=total, dims={M: 5})
def sum_all(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (1,)]:
    E1 = step.Promote(b=1).apply(E0)
    return step.Accum(fn=add, b=1).apply(E1)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("b", ParamKind.INTEGER, "Index of the new dimension, from 0 (innermost) to rank + 1 (outermost)."),
    )
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), regroups=True, ahead=True)

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape with the new dimension."""
        need_inputs(self, operands, 1)
        stream = operands[0].type
        if not 0 <= self.b <= stream.rank + 1:
            text = (
                f"b of Promote must be from 0 to {stream.rank + 1} (the rank of {operands[0].name} plus one, "
                f"shape {shape_text(stream.shape)}), found {self.b}"
            )
            raise RuleError("STEP206", text, RuleSubject.param("b"))
        new = Dim.of(1)
        if self.b > stream.rank >= 0 and stream.shape[-1].is_open and not ctx.is_published(operands[0]):
            from stepcore.sizes.kinds import one  # most programs have static sizes

            new = one(stream.shape[-1])
            ctx.settled = self._that_keeps_empty()
        return (StreamType(stream.element, (*stream.shape[: self.b], new, *stream.shape[self.b :])),)

    def _that_keeps_empty(self) -> Promote:
        made = self.made(self.param_values())
        made.__dict__["keeps_empty"] = True
        return made

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Insert the dimension; what is empty stays so where the rule inserted ``one(X)``."""
        data = inputs[0]
        return (data.insert_dim(self.b, min(data.sizes[-1], 1) if self.keeps_empty else 1),)

    def looks_ahead(self, rank: int) -> bool:
        """An outermost dimension ends with the stream, and the last element tells so."""
        return self.b > rank

    def chunking(self, rank: int) -> Chunking:
        """An outermost dimension holds the whole stream."""
        return Chunking(at_end=self.b > rank)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream with one more dimension."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
