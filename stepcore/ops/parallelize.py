"""Parallelize: the chunks of a stream go to lanes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import (
    Operand,
    Operator,
    Param,
    ParamKind,
    TypingContext,
    need_choice,
    need_inputs,
    need_size,
)
from stepcore.ops.calling import Group, Many, One, Outputs
from stepcore.ops.pace import Chunking, Routing
from stepcore.ops.selectors import SELECTED
from stepcore.types import Multihot, StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream

_POLICIES = ("round_robin", "free")


class Parallelize(Operator):
    """Deal out the outermost chunks of a stream to lanes, and tell where each went."""

    N: int
    policy: str = "round_robin"

    summary: ClassVar[str] = "Deals out the outermost chunks of a stream to lanes."
    rule: ClassVar[str] = (
        "shape of T -> (N streams, the i-th shape[:-1] + [#(selector, i)] of T, selector of shape[-1:] of "
        "Multihot(bool, N))"
    )
    details: ClassVar[str] = (
        'With policy="round_robin" chunk j goes to lane j mod N; with "free" to the lane that has room first, which '
        "the timing of the chip decides: a run without timing takes the lanes in turn, and STEP414 tells where a "
        "result depends on that. By copies of the selector Partition sends companions the same way, and Reassemble "
        "restores the order. Nobody has to read the selector."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def square(input):
    return [input[0] * input[0]]


def squares(x: torch.Tensor) -> torch.Tensor:  # x: (M,)
    return x**2


@step.program(reference=squares, dims={M: 5})
def square_in_lanes(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    lanes, lane_of = step.Parallelize(N=2).apply(E0)
    E1 = [step.Map(fn=square).apply(lane) for lane in lanes]
    return step.Flatten(L=[1]).apply(step.Reassemble(onehot=True).apply((E1, lane_of)))
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("N", ParamKind.INTEGER, "The number of lanes: the length of the selector."),
        Param(
            "policy",
            ParamKind.CHOICE,
            "Which lane a chunk goes to: the next in turn, or the first that is free.",
            choices=_POLICIES,
        ),
    )
    outputs: ClassVar[Outputs] = Outputs(
        Group((Many("lane", count="N"), One("selector", selects=True)), ("lanes", "selector"))
    )
    routes: ClassVar[Routing] = Routing.DEALS
    ends_unread: ClassVar[bool] = True
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return one stream for each lane, and the selector."""
        need_inputs(self, operands, 1)
        need_size("Parallelize", "N", self.N, ctx)
        need_choice("Parallelize", self.params[1], self.policy)
        stream = operands[0].type
        selector = StreamType(Multihot(SELECTED, self.N), stream.shape[-1:])
        own = ctx.result(selector, self.N)
        lanes = ctx.branches(stream.element, stream.shape[:-1], own, self.N)
        return (*lanes, selector)

    def by_arrival(self) -> bool:
        """Return whether it depends on what is free first."""
        return self.policy == "free"

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Deal out the chunks in turn."""
        return rt.deal(inputs[0], self.N, by_arrival=self.by_arrival())

    def chunking(self, rank: int) -> Chunking:
        """The lane of a chunk follows from how many came before it."""
        return Chunking(so_far=True)

    def apply(self, input: Stream, name: str = "") -> tuple[list[Stream], Stream]:
        """Consume ``input`` and return the lanes, and where each chunk went."""
        dealt: tuple[list[Stream], Stream] = Operator.execute(self, input, name)
        return dealt
