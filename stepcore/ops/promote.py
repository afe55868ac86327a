"""Promote: a new dimension of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.pace import Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


@dataclass(frozen=True, kw_only=True)
class Promote(Operator):
    """Insert a dimension of size 1 at index ``b``."""

    b: int

    summary: ClassVar[str] = "Inserts a dimension of size 1."
    rule: ClassVar[str] = "shape -> shape[:b] + [1] + shape[b:], where 0 <= b <= R+1"
    details: ClassVar[str] = (
        "b=0 makes it the innermost dimension, b=R+1 the outermost. It serves as the placeholder that Accum and "
        "Bufferize need when they take all dimensions; Flatten removes it again."
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
        return (StreamType(stream.element, (*stream.shape[: self.b], Dim.of(1), *stream.shape[self.b :])),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Insert the dimension."""
        return (inputs[0].insert_dim(self.b, 1),)

    def looks_ahead(self, rank: int) -> bool:
        """An outermost dimension ends with the stream, and the last element tells so."""
        return self.b > rank

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream with one more dimension."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
