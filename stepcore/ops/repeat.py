"""Repeat: each element several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import (
    Operand,
    Operator,
    Param,
    ParamKind,
    TypingContext,
    need_inputs,
    need_size,
    repeated_bytes,
)
from stepcore.ops.pace import Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Repeat(Operator):
    """Repeat each element ``n`` times along a new innermost dimension."""

    n: Dim | int

    summary: ClassVar[str] = "Repeats each element along a new innermost dimension."
    rule: ClassVar[str] = "shape -> [n] + shape"
    details: ClassVar[str] = (
        "Only an innermost dimension can be added. To repeat whole rows, stash them: Bufferize what must stay inside, "
        "Repeat, then Streamify."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


def columns(x: torch.Tensor) -> torch.Tensor:  # x: (N,)
    return x.unsqueeze(-1).expand(-1, 5)


@step.program(reference=columns, dims={M: 5, N: 7})
def repeat_each(E0: Annotated[step.Stream, step.f32, (N,)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Repeat(n=M).apply(E0)
"""
    published: ClassVar[tuple[str, ...]] = ("RepeatStatic",)
    params: ClassVar[tuple[Param, ...]] = (
        Param("n", ParamKind.SIZE, "How often each element is repeated: a positive integer or a symbolic size."),
    )
    aliases: ClassVar[tuple[str, ...]] = ("RepeatLast",)
    pace: ClassVar[Pace | None] = Pace((Read.REPEATED,))

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the shape with ``n`` as the innermost size."""
        need_inputs(self, operands, 1)
        need_size("Repeat", "n", self.n, ctx)
        stream = operands[0].type
        return (StreamType(stream.element, (Dim.of(self.n), *stream.shape)),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Insert a dimension along which the elements stand repeatedly."""
        return (inputs[0].insert_dim(0, rt.size(self.n)),)

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return the size of the tile that is repeated."""
        return repeated_bytes(outputs[0].element)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream with one more dimension."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
