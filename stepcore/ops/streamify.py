"""Streamify: buffers become innermost dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, RuleError, RuleSubject, TypingContext, need_inputs
from stepcore.ops.pace import Buffers, Pace, Read
from stepcore.types import Buffer, Element, StreamType, STuple

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


@dataclass(frozen=True, kw_only=True)
class Streamify(Operator):
    """Read the buffers of a stream element by element."""

    summary: ClassVar[str] = "Turns the buffers of a stream into its innermost dimensions."
    rule: ClassVar[str] = "shape of Buffer(T, s) -> s + shape of T"
    details: ClassVar[str] = "The inverse of Bufferize: all dimensions of the buffer become dimensions of the stream."
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
    pace: ClassVar[Pace | None] = Pace((Read.REPEATED,))
    buffers: ClassVar[Buffers] = Buffers.READS

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the buffer's sizes before the shape, and the buffer's element."""
        need_inputs(self, operands, 1)
        stream = operands[0].type
        buffer = _buffer(stream.element, operands[0].name)
        return (StreamType(buffer.element, buffer.shape + stream.shape),)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Read the same tensor with the buffer's dimensions as stream dimensions."""
        buffer = _buffer(inputs[0].element, "the input")
        return (inputs[0].out_of_element(len(buffer.shape), buffer.element),)

    def apply(self, input: Stream, name: str = "") -> Stream:
        """Consume ``input`` and return the stream of buffer elements."""
        stream: Stream = Operator.execute(self, input, name)
        return stream


def _buffer(element: Element, name: str) -> Buffer:
    if isinstance(element, Buffer):
        return element
    hint = "; Bufferize it before, or leave Streamify out"
    if isinstance(element, STuple):
        hint = "; apply Streamify to each stream before the Zip"
    text = f"Streamify needs a stream of buffers, but {name} holds {element}{hint}"
    raise RuleError("STEP209", text, RuleSubject.input(0))
