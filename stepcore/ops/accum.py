"""Accum: fold the innermost dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import BW, FnLike, Operand, Operator, Param, ParamKind, TypingContext, need_inputs
from stepcore.ops.calling import ONE_OR_TUPLE, Inputs
from stepcore.ops.functions import need_fn, need_folded, need_zipped
from stepcore.ops.pace import Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, element_bytes, element_count

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Accum(Operator):
    """Fold the innermost ``b`` dimensions with a function that has a state."""

    fn: FnLike
    b: int
    bw: Dim | int | None = None

    summary: ClassVar[str] = "Folds the innermost dimensions of a stream with a function that has a state."
    rule: ClassVar[str] = "shape of T -> shape[b:] of fn.output, where 1 <= b <= R and fn.input == T"
    details: ClassVar[str] = (
        "For each output position the state starts from the function's init and takes the elements in order, the "
        "innermost dimension fastest. One dimension must stay: to fold all of them, wrap the stream in Promote ... "
        "Flatten. Folding an empty dimension gives the init. A tuple of streams as input is zipped first."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def sums(x: torch.Tensor) -> torch.Tensor:  # x: (N, M)
    return x.sum(-1)


@step.program(reference=sums, dims={M: 5, N: 7})
def sum_inner(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
    return step.Accum(fn=add, b=1).apply(E0)
"""
    published: ClassVar[tuple[str, ...]] = ("BinaryMapAccum",)
    params: ClassVar[tuple[Param, ...]] = (
        Param(
            "fn",
            ParamKind.FN,
            "The function with a state (an init); its input type must be the element type.",
            folds=True,
        ),
        Param("b", ParamKind.INTEGER, "How many of the innermost dimensions are folded, from 1 to the rank."),
    )
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, BW)
    inputs: ClassVar[Inputs] = ONE_OR_TUPLE
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), folds=True, applies=True)

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the outer dimensions with the function's output type."""
        if not operands:
            need_inputs(self, operands, 1)  # pragma: no mutate: any number but 0 refuses
        need_fn("Accum", self.fn, state=True)
        need_folded("Accum", "b", self.b, operands[0])
        fn = need_zipped("Accum", self.fn, operands, ctx)
        return (StreamType(fn.output, operands[0].type.shape[self.b :]),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Fold from the init."""
        data = inputs[0] if len(inputs) == 1 else rt.zip(inputs)  # pragma: no mutate: one stream zipped is itself
        return (rt.fold(self.fn, data, self.b),)

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return the size of the accumulator: one output element."""
        return element_bytes(outputs[0].element)

    def calls(self, inputs: Sequence[StreamType]) -> tuple[tuple[FnLike, Dim], ...]:
        """Return the function, applied to every element."""
        return ((self.fn, element_count(inputs[0].shape)),)

    def apply(self, input: Stream | tuple[Stream, ...], name: str = "") -> Stream:
        """Consume ``input`` and return the stream of final states."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
