"""FlatMap: each element becomes a list, and lists of one dimension are joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from stepcore.ops.base import (
    BW,
    FnLike,
    Operand,
    Operator,
    Param,
    ParamKind,
    RuleError,
    RuleSubject,
    TypingContext,
    need_inputs,
)
from stepcore.ops.calling import ONE_OR_TUPLE, Inputs
from stepcore.ops.functions import need_fn, need_zipped
from stepcore.ops.pace import Pace, Read
from stepcore.ops.tiles import need_addresses
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Scalar, Shape, StreamType, element_count

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class FlatMap(Operator):
    """Apply a function that gives lists to every element, and join the lists of the innermost dimension."""

    fn: FnLike
    bw: Dim | int | None = None

    summary: ClassVar[str] = "Makes a list of every element and joins the lists of the innermost dimension."
    rule: ClassVar[str] = (
        "shape of T -> [s0, ..., s(b-1), sb*shape[0]] + shape[1:] of U, where fn.input == T and fn.output is "
        "Buffer(U, [s0, ..., sb])"
    )
    details: ClassVar[str] = (
        "A list is what the function returns as a buffer; its outermost size is joined with the innermost dimension of "
        "the stream, further ones become dimensions of their own inside. To keep the lists of single elements apart, "
        "Promote(b=0) first. A tuple of streams as input is zipped first. step.count is the function whose lists are "
        "as long as the data say: n becomes 0, 1, ..., n-1."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.Buffer(step.f32, [2]))
def with_negative(input):
    return [torch.stack([input[0], -input[0]])]


def both_signs(x: torch.Tensor) -> torch.Tensor:  # x: (N, M)
    return torch.stack([x, -x], -1).flatten(1)


@step.program(reference=both_signs, dims={M: 5, N: 7})
def sign_all(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (2 * M, N)]:
    return step.FlatMap(fn=with_negative).apply(E0)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("fn", ParamKind.FN, "The function without state; its output is a buffer, the list of one element."),
    )
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, BW)
    inputs: ClassVar[Inputs] = ONE_OR_TUPLE
    pace: ClassVar[Pace | None] = Pace((Read.REPEATED,), applies=True)
    counts: ClassVar[bool] = True
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the lists' sizes, the outermost of which takes in the innermost dimension, and their element."""
        if not operands:
            need_inputs(self, operands, 1)  # pragma: no mutate: any number but 0 refuses
        if self.fn.is_count:
            return (self._counted(operands, ctx),)
        need_fn("FlatMap", self.fn, state=False)
        lists = _lists(need_zipped("FlatMap", self.fn, operands, ctx))
        (joined, *outer), (*inner, last) = operands[0].type.shape, lists.shape
        return (StreamType(lists.element, (*inner, last * joined, *outer)),)

    def _counted(self, operands: Sequence[Operand], ctx: TypingContext) -> StreamType:
        need_inputs(self, operands, 1)
        need_addresses("FlatMap of step.count", operands[0], "a whole number, up to which it counts")
        stream = operands[0].type
        most = stream.shape[0] * ctx.greatest(operands[0])
        joined = ctx.length("count", operands[0], most, varies=stream.rank > 0)
        return StreamType(Scalar("int64"), (joined, *stream.shape[1:]))

    @classmethod
    def made(cls, params: Mapping[str, Any]) -> Self:
        """See the base class; ``step.count`` takes what it is given before it counts."""
        op = super().made(params)
        if op.fn.is_count:
            op.__dict__["pace"] = _COUNTS
        return op

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Apply the function, read its lists out, and join them."""
        if self.fn.is_count:
            return (rt.count_each(inputs[0]).merge_dims(0, 1),)
        lists = _lists(self.fn)
        count = len(lists.shape)
        data = inputs[0] if len(inputs) == 1 else rt.zip(inputs)  # pragma: no mutate: one stream zipped is itself
        given = rt.map(self.fn, data).out_of_element(count, lists.element)
        return (given.merge_dims(count - 1, count),)

    def calls(self, inputs: Sequence[StreamType]) -> tuple[tuple[FnLike, Dim], ...]:
        """Return the function, applied to every element; ``step.count`` is no work."""
        if self.fn.is_count:
            return ()
        return ((self.fn, element_count(inputs[0].shape)),)

    def rounds(self, inputs: Sequence[StreamType], output: StreamType, slot: int) -> Shape:
        """Return the sizes of a list."""
        if self.fn.is_count:
            return output.shape[:1]
        return _lists(self.fn).shape

    def apply(self, input: Stream | tuple[Stream, ...], name: str = "") -> Stream:
        """Consume ``input`` and return the stream of what the lists hold."""
        stream: Stream = Operator.execute(self, input, name)
        return stream


_COUNTS: Final = Pace((Read.SPREAD,))


def _lists(fn: FnLike) -> Buffer:
    """Return the type of the lists that a function gives; raise STEP209 where it gives none."""
    if isinstance(fn.output, Buffer) and fn.output.shape:
        return fn.output
    text = f"FlatMap needs a function that gives lists, and {fn.func_name} gives {fn.output}; "
    way_out = "give the buffer a size" if isinstance(fn.output, Buffer) else "let its output be a buffer"
    raise RuleError("STEP209", f"{text}{way_out}, or use Map", RuleSubject.param("fn"))
