"""Streamify: buffers become innermost dimensions."""

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
)  # fmt: skip
from stepcore.ops.calling import Group, Inputs, One
from stepcore.ops.pace import Buffers, Pace, Read
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Element, Shape, StreamType, STuple, same_shape, shape_text

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Streamify(Operator):
    """Read the buffers of a stream element by element."""

    shape: tuple[Dim | int, ...] | list[Dim | int] | None = None
    stride: tuple[Dim | int, ...] | list[Dim | int] | None = None

    summary: ClassVar[str] = "Turns the buffers of a stream into its innermost dimensions."
    rule: ClassVar[str] = (
        "shape of Buffer(T, s) -> s + shape of T; (data of Buffer(T, s), ref) -> s + ref.shape of T, where "
        "ref.shape[k:] == data.shape and k >= 1; with shape= that stands in place of s"
    )
    details: ClassVar[str] = (
        "The inverse of Bufferize: all dimensions of the buffer become dimensions of the stream. With shape and stride "
        "the buffer is read at other places: its elements are numbered innermost fastest, and at the counters i_d of "
        "shape comes element sum(i_d*stride[d]). With a reference a buffer is read once for each of its elements, "
        "whose values are dropped."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M


def same(x: torch.Tensor) -> torch.Tensor:  # x: (M, K)
    return x


@step.program(reference=same, dims={K: 9, M: 5})
def read_out(
    E0: Annotated[step.Stream, step.Buffer(step.f32, [K]), (M,)],
) -> Annotated[step.Stream, step.f32, (K, M)]:
    return step.Streamify().apply(E0)
"""
    published: ClassVar[tuple[str, ...]] = ("DynStreamify",)
    params: ClassVar[tuple[Param, ...]] = (
        Param(
            "shape",
            ParamKind.SIZES,
            "How often counters run, innermost first; the buffer's sizes unless given.",
            generation=2,
        ),
        Param(
            "stride",
            ParamKind.OFFSETS,
            "By how many elements each counter goes on; in order unless given.",
            generation=2,
        ),
    )
    inputs: ClassVar[Inputs] = Inputs((One(), Group((One("first", "DATA"), One("second", "REF")))))
    pace: ClassVar[Pace | None] = Pace((Read.REPEATED, Read.SPREAD))
    buffers: ClassVar[Buffers] = Buffers.READS

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the buffer's sizes, or those of the read, before the shape, and the buffer's element."""
        if len(operands) != 2:
            need_inputs(self, operands, 1)
        stream = operands[0].type
        buffer = _buffer(stream.element, operands[0].name)
        sizes = buffer.shape if self.shape is None and self.stride is None else self._read(buffer, ctx)
        outer = stream.shape if len(operands) == 1 else _referenced(operands, ctx)
        return (StreamType(buffer.element, sizes + outer),)

    def _read(self, buffer: Buffer, ctx: TypingContext) -> Shape:
        from stepcore.ops.open_sizes import need_static  # most programs read buffers in order
        from stepcore.ops.tiles import affine, optional_shape

        for size in buffer.shape:
            need_static("Streamify", size, "buffers")
        given = (optional_shape(self.shape), optional_shape(self.stride))
        return affine("Streamify", given, None, buffer.shape, "the buffer", ctx)[0]

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Read the same tensor with the buffer's dimensions as stream dimensions.

        Raises:
            RuleError: STEP228 where the read leaves the buffer.
        """
        data = inputs[0]
        buffer = _buffer(data.element, "the input")
        count = dims = len(buffer.shape)
        outer = len(data.sizes)
        data = data.out_of_element(count, buffer.element)
        if self.shape is not None:
            from stepcore.ops.tiles import places_of

            places = places_of("Streamify", rt, (self.shape, self.stride), None, data.sizes[:count], "the buffer")
            data, dims = data.read_dims(count, places), len(places.shape)
        more = inputs[1].sizes[: len(inputs[1].sizes) - outer] if len(inputs) > 1 else ()
        for size in reversed(more):
            data = rt.insert(data, dims, size)
        return (data,)

    def apply(self, input: Stream | tuple[Stream, Stream], name: str = "") -> Stream:
        """Consume ``input`` and return the stream of buffer elements."""
        stream: Stream = Operator.execute(self, input, name)
        return stream


def _referenced(operands: Sequence[Operand], ctx: TypingContext) -> Shape:
    """Return the shape of the reference; raise STEP207 unless it is the data's with dimensions inside."""
    data, ref = operands[0].type.shape, operands[1].type.shape
    more = len(ref) - len(data)
    if more < 1 or not same_shape(ref[more:], data, ctx.facts):
        what = (
            f"Streamify takes (data, ref), and {operands[1].name} (shape {shape_text(ref)}) without one or more of its "
            f"innermost dimensions must have the shape of {operands[0].name}"
        )
        text = mismatch(what, data, ref[max(more, 0) :], ctx.facts)
        raise RuleError("STEP207", text, RuleSubject.input(1))
    return ref


def _buffer(element: Element, name: str) -> Buffer:
    if isinstance(element, Buffer):
        return element
    hint = "; Bufferize it before, or leave Streamify out"
    if isinstance(element, STuple):
        hint = "; apply Streamify to each stream before the Zip"
    text = f"Streamify needs a stream of buffers, but {name} holds {element}{hint}"
    raise RuleError("STEP209", text, RuleSubject.input(0))
