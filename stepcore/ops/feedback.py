"""Feedback: the one cycle of the language. ``loop.apply()`` is a stream, ``loop.close(y)`` says what comes back by it.

In a graph these are two nodes: this operator makes a stream from nothing, and :class:`stepcore.graph.loops.FeedbackEnd`
takes ``y`` and names that stream, so a graph has no cycle itself. On a chip the two are one FIFO.
"""

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
    need_inputs,
    need_size,
)
from stepcore.ops.calling import NO_INPUT, Inputs
from stepcore.ops.pace import LoopPart
from stepcore.sizes.dim import Dim
from stepcore.types import Element, StreamType, STuple, as_shape

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Feedback(Operator):
    """A loop: what is closed comes back as the stream that it gives."""

    element: Element | Sequence[Element]
    dims: tuple[Dim | int, ...] | list[Dim | int]

    summary: ClassVar[str] = "Brings a stream back to operators before it: a loop."
    rule: ClassVar[str] = "loop.apply(): nothing -> dims of element; loop.close(y): dims of element -> nothing"
    details: ClassVar[str] = (
        "The one operator with two calls: loop.apply() gives the stream, loop.close(y) consumes what comes back by it, "
        "once and in the same body. Outermost chunks come back one by one, so something has to come in first: mostly "
        "EagerMerge joins the loop with what is new. A dynamic size step.dyn(...) as the outermost of dims says that "
        "only the run knows how many come back: the loop ends when nothing moves any more. A static size is how many "
        "there are. Sizes that only a run knows may close it; the run compares them with dims (STEP412). What goes "
        "round has room in the FIFO of the loop only, so depth= is often what a chip needs (STEP502)."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def square(input):
    return [input[0] * input[0]]


def twice(x: torch.Tensor) -> torch.Tensor:  # x: (M,)
    return x**4


@step.program(reference=twice, dims={M: 5})
def square_twice(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (step.dyn("T"),)]:
    loop = step.Feedback(element=step.f32, dims=[M], depth=M)
    E1, E2 = step.EagerMerge().apply([E0, loop.apply()])
    E3, E4 = step.Partition(N=2).apply((step.Map(fn=square).apply(E1), E2))
    loop.close(E3)  # what came from E0 goes round once
    return E4
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("element", ParamKind.ELEMENT, "The type of the elements that come back, such as step.f32."),
        Param("dims", ParamKind.SIZES, "The sizes of the stream, innermost first; step.dyn(...) is one of the run."),
    )
    inputs: ClassVar[Inputs] = NO_INPUT
    looping: ClassVar[LoopPart] = LoopPart.BEGINS
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the type that the parameters say."""
        need_inputs(self, operands, 0)
        for size in as_shape(self.dims):
            if not size.is_open:
                need_size("Feedback", "dims", size, ctx, f"{size} in dims")
        found = StreamType(self.item, as_shape(self.dims))
        if found.is_open:
            self._check_kinds(found)
        return (found,)

    @property
    def item(self) -> Element:
        """The type of the elements; several are a tuple."""
        return self.element if isinstance(self.element, Element) else STuple(self.element)  # type: ignore[arg-type]

    def _check_kinds(self, found: StreamType) -> None:
        from stepcore.open_types.rules import fault_in, outermost_fault  # most loops have static sizes

        for name, fault in (("element", fault_in(found.element)), ("dims", outermost_fault(found.shape))):
            if fault is not None:
                raise RuleError("STEP226", f"{name} of Feedback: {fault.message}", RuleSubject.param(name))

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Return what came back; only what reckons with whole streams asks, loops are run chunk by chunk."""
        return (rt.loop(StreamType(self.item, as_shape(self.dims))),)

    def apply(self, name: str = "") -> Stream:
        """Return the stream of what comes back."""
        stream: Stream = Operator.execute(self, (), name)
        return stream

    def close(self, input: Stream) -> None:
        """Consume ``input``, which comes back by the loop."""
        Operator.end_loop(self, input)
