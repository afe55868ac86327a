"""EagerMerge: the chunks of several streams, as they come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, RuleError, TypingContext
from stepcore.ops.calling import Group, Inputs, Many, One, Outputs
from stepcore.ops.pace import Routing
from stepcore.ops.selectors import SELECTED, common_of
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import Multihot, StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class EagerMerge(Operator):
    """Join streams into one, each outermost chunk when it is there, and tell where each came from."""

    summary: ClassVar[str] = "Joins streams into one, each outermost chunk when it is there."
    rule: ClassVar[str] = (
        "[N streams of T, each common + [any]] -> (common + [sum] of T, [sum] of Multihot(bool, N)), where sum is that "
        "of the outermost sizes"
    )
    details: ClassVar[str] = (
        "The selector says of each chunk from which stream it came: Partition by a copy of it takes the streams apart "
        "again. In which order chunks come, the timing of the chip decides; a run without timing takes one stream "
        "after the other, ascending, and STEP414 tells where a result depends on that. Nobody has to read the selector."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def total(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:  # x: (M,), y: (N,)
    return (x.sum() + y.sum()).reshape(1)


@step.program(reference=total, dims={M: 5, N: 7})
def sum_both(
    E0: Annotated[step.Stream, step.f32, (M,)], E1: Annotated[step.Stream, step.f32, (N,)]
) -> Annotated[step.Stream, step.f32, (1,)]:
    E2, E3 = step.EagerMerge().apply([E0, E1])
    return step.Accum(fn=add, b=1).apply(step.Promote(b=1).apply(E2))
"""
    inputs: ClassVar[Inputs] = Inputs((Many(),))
    outputs: ClassVar[Outputs] = Outputs(Group((One("data"), One("selector", selects=True)), ("data", "selector")))
    routes: ClassVar[Routing] = Routing.ARRIVES
    ends_unread: ClassVar[bool] = True
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the common inner dimensions with the sum of the outermost ones, and a selector of that length."""
        if not operands:
            found = counted(len(operands), "stream")
            raise RuleError("STEP205", f"EagerMerge takes a list of at least one stream, found {found}")
        element, common = common_of(operands, ctx)
        total = sum((operand.type.shape[-1] for operand in operands), Dim.of(0))
        selector = StreamType(Multihot(SELECTED, len(operands)), (total,))
        return (StreamType(element, (*common, total)), selector)

    def by_arrival(self) -> bool:
        """Return that it does."""
        return True

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Put the streams behind each other."""
        return rt.arrive(inputs)

    def apply(self, input: Sequence[Stream], name: str = "") -> tuple[Stream, Stream]:
        """Consume the streams and return their chunks and where these came from."""
        pair: tuple[Stream, Stream] = Operator.execute(self, input, name)
        return pair
