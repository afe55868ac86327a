"""Bufferize: the innermost dimensions become an on-chip tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.functions import need_folded
from stepcore.ops.pace import Buffers, Pace, Read
from stepcore.sizes.dim import Dim, product
from stepcore.types import Buffer, Element, Multihot, Scalar, Shape, StreamType, STuple, Tile, as_shape, element_bytes

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Bufferize(Operator):
    """Store the innermost ``a`` dimensions as one buffer per position of the others."""

    a: int

    summary: ClassVar[str] = "Turns the innermost dimensions of a stream into on-chip buffers."
    rule: ClassVar[str] = (
        "shape of T -> shape[a:] of Buffer(T, shape[:a]), where 1 <= a <= R and dimensions 0 to a-2 are not ragged"
    )
    details: ClassVar[str] = (
        "Where T is already Buffer(U, s), the result is Buffer(U, s + shape[:a]). One dimension must stay: to buffer "
        "all of them, Promote first. Streamify is the way back, and all that reads buffers of a ragged size. Tuples "
        "are refused: bufferize before Zip."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]))
def softmax(input):
    return [torch.softmax(input[0], dim=0)]


def row_softmax(x: torch.Tensor) -> torch.Tensor:  # x: (M, K)
    return torch.softmax(x, dim=1)


@step.program(reference=row_softmax, dims={K: 9, M: 5})
def softmax_rows(
    E0: Annotated[step.Stream, step.f32, (K, M)],
) -> Annotated[step.Stream, step.Buffer(step.f32, [K]), (M,)]:
    E1 = step.Bufferize(a=1).apply(E0)
    return step.Map(fn=softmax).apply(E1)
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("a", ParamKind.INTEGER, "How many of the innermost dimensions go into the buffer, from 1 to the rank."),
    )
    pace: ClassVar[Pace | None] = Pace((Read.TAKEN,), folds=True)
    buffers: ClassVar[Buffers] = Buffers.FILLS

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the outer dimensions with buffers as elements."""
        need_inputs(self, operands, 1)
        stream = operands[0].type
        need_folded("Bufferize", "a", self.a, operands[0])
        if any(size.is_ragged for size in stream.shape[: self.a - 1]):
            self._refuse_ragged(stream.shape)
        return (StreamType(self._buffer(stream.element, stream.shape[: self.a]), stream.shape[self.a :]),)

    def _refuse_ragged(self, shape: Shape) -> None:
        from stepcore.ops.open_sizes import need_not_ragged  # most programs have static sizes

        for place, size in enumerate(shape[: self.a - 1]):
            way_out = f"only the outermost dimension of a buffer may be ragged: Bufferize(a={place + 1})"
            need_not_ragged("Bufferize", size, f"dimension {place}", way_out=way_out)

    def _buffer(self, element: Element, sizes: Shape) -> Buffer:
        match element:
            case Buffer():
                return Buffer(element.element, element.shape + sizes)
            case Scalar() | Multihot() | Tile():
                return Buffer(element, sizes)
            case STuple():
                text = f"Bufferize takes scalars, selectors, tiles and buffers, found {element}"
                raise RuleError(
                    "STEP212", f"{text}; apply Bufferize to each stream before the Zip", RuleSubject.input(0)
                )

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Read the same tensor with its innermost stream dimensions as part of the element."""
        data = inputs[0]
        given: Sequence[object] = data.sizes[: self.a]
        # A ragged size is 0 here: nobody reads it from the element, the data know how long each buffer is.
        sizes = [size if isinstance(size, int) else 0 for size in given]
        return (data.into_element(self.a, self._buffer(data.element, as_shape(sizes))),)

    def on_chip_bytes(self, inputs: Sequence[StreamType], outputs: Sequence[StreamType]) -> Dim:
        """Return one input element plus two buffers (double buffering)."""
        element = element_bytes(inputs[0].element)
        return element + 2 * product(inputs[0].shape[: self.a]) * element

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream of buffers."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
