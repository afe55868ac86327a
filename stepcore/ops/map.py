"""Map: a function on every element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import BW, FnLike, Operand, Operator, Param, ParamKind, TypingContext, need_inputs
from stepcore.ops.calling import ONE_OR_TUPLE, Inputs
from stepcore.ops.functions import need_fn, need_zipped
from stepcore.ops.pace import Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import StreamType, element_count

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Map(Operator):
    """Apply a function to every element; several streams are zipped first."""

    fn: FnLike
    bw: Dim | int | None = None

    summary: ClassVar[str] = "Applies a function to every element of a stream."
    rule: ClassVar[str] = "shape of T -> shape of fn.output, where fn.input == T"
    details: ClassVar[str] = (
        "The function has no state: each output depends on one input element. A tuple of streams as input is zipped "
        "first, so that the function gets the joined components."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def square(input):
    return [input[0] * input[0]]


def squares(x: torch.Tensor) -> torch.Tensor:  # x: (N, M)
    return x**2


@step.program(reference=squares, dims={M: 5, N: 7})
def square_all(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=square).apply(E0)
"""
    published: ClassVar[tuple[str, ...]] = ("UnaryMap", "BinaryMap")
    params: ClassVar[tuple[Param, ...]] = (
        Param("fn", ParamKind.FN, "The function without state; its input type must be the element type of the stream."),
    )
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, BW)
    inputs: ClassVar[Inputs] = ONE_OR_TUPLE
    pace: ClassVar[Pace | None] = Pace((Read.KEPT,), applies=True)

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the input's shape with the function's output type."""
        if not operands:
            need_inputs(self, operands, 1)  # pragma: no mutate: any number but 0 refuses
        need_fn("Map", self.fn, state=False)
        fn = need_zipped("Map", self.fn, operands, ctx)
        return (StreamType(fn.output, operands[0].type.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Apply the function to every element."""
        data = inputs[0] if len(inputs) == 1 else rt.zip(inputs)  # pragma: no mutate: one stream zipped is itself
        return (rt.map(self.fn, data),)

    def calls(self, inputs: Sequence[StreamType]) -> tuple[tuple[FnLike, Dim], ...]:
        """Return the function, applied to every element."""
        return ((self.fn, element_count(inputs[0].shape)),)

    def apply(self, input: Stream | tuple[Stream, ...], name: str = "") -> Stream:
        """Consume ``input`` and return the stream of results."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
