"""Expand: each element as often as the innermost dimensions of a second stream say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import (
    Operand,
    Operator,
    Param,
    ParamKind,
    RuleError,
    RuleSubject,
    TypingContext,
    mismatch,
    need_inputs,
)
from stepcore.ops.calling import Inputs, pair
from stepcore.ops.pace import EACH_CHUNK, Chunking, Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import Shape, StreamType, element_bytes, same_shape, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Expand(Operator):
    """Repeat each element along the ``b`` innermost dimensions of a reference stream."""

    b: int

    summary: ClassVar[str] = "Repeats each element along the innermost dimensions of a reference stream."
    rule: ClassVar[str] = (
        "(data of T, ref) -> ref.shape of T, where data.shape[:b] are all 1, data.shape[b:] == ref.shape[b:] and "
        "1 <= b <= R+1"
    )
    details: ClassVar[str] = (
        "Data and reference have the same number of dimensions, and the innermost b of the data are of size 1. Only "
        "the shape of the reference matters; its values are drained and dropped. RepeatRef is Promote(b=0) and then "
        "Expand(b=1)."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N


def spread(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # x: (N, 1, 1), y: (N, M, K)
    return x.expand_as(y)


@step.program(reference=spread, dims={K: 9, M: 5, N: 7})
def expand_as(
    E0: Annotated[step.Stream, step.f32, (1, 1, N)], E1: Annotated[step.Stream, step.f32, (K, M, N)]
) -> Annotated[step.Stream, step.f32, (K, M, N)]:
    return step.Expand(b=2).apply((E0, E1))
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("b", ParamKind.INTEGER, "How many of the innermost dimensions are repeated, from 1 to rank + 1."),
    )
    published: ClassVar[tuple[str, ...]] = ("ExpandRef",)
    inputs: ClassVar[Inputs] = pair("REF")
    pace: ClassVar[Pace | None] = Pace((Read.REPEATED, Read.TAKEN))
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the reference's shape with the data's element."""
        need_inputs(self, operands, 2)
        data, ref = operands[0].type, operands[1].type
        if not 1 <= self.b <= data.rank + 1:
            text = (
                f"b of Expand must be from 1 to {data.rank + 1} (the rank of {operands[0].name} plus one, "
                f"shape {shape_text(data.shape)}), found {self.b}"
            )
            raise RuleError("STEP206", text, RuleSubject.param("b"))
        repeated = data.shape[: self.b]
        if any(size != Dim.of(1) for size in repeated):
            what = f"Expand with b={self.b} repeats along dimensions of size 1, and {operands[0].name} has others"
            text = mismatch(what, (Dim.of(1),) * self.b, repeated, ctx.facts)
            raise RuleError("STEP207", f"{text}\n  Promote inserts a dimension of size 1", RuleSubject.input(0))
        if not same_shape(ref.shape[self.b :], data.shape[self.b :], ctx.facts) or ref.rank != data.rank:
            what = (
                f"Expand takes (data, ref), and {operands[1].name} (shape {shape_text(ref.shape)}) must have the "
                f"shape of {operands[0].name} but for its innermost {self.b}"
            )
            text = mismatch(what, data.shape[self.b :], ref.shape[self.b :], ctx.facts)
            raise RuleError("STEP207", text, RuleSubject.input(1))
        return (StreamType(data.element, ref.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Insert the reference's innermost dimensions in place of those of size 1."""
        data, ref = inputs
        outermost = self.b == len(data.sizes)
        if outermost:  # one dimension has to stay
            data = data.insert_dim(self.b, 1)
        data = data.merge_dims(0, self.b)
        for size in reversed(ref.sizes[: self.b]):
            data = rt.insert(data, 0, size)
        return (data.merge_dims(self.b - 1, self.b) if outermost else data,)

    def rounds(self, inputs: Sequence[StreamType], output: StreamType, slot: int) -> Shape:
        """Return the sizes along which one element of the data is repeated."""
        return output.shape[: self.b] if slot == 0 else ()

    def chunking(self, rank: int) -> Chunking:
        """Data whose every dimension is of size 1 serve the whole reference."""
        return Chunking(held=(0,)) if self.b > rank else EACH_CHUNK

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return the size of the element that is repeated."""
        return element_bytes(outputs[0].element)

    def apply(self, input: tuple[Stream, Stream], name: str = "") -> Stream:
        """Consume data and reference and return the repeated data."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
