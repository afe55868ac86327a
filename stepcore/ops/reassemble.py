"""Reassemble: the selected chunks of branches stand side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, TypingContext, need_choice
from stepcore.ops.calling import BRANCHES_AND_SELECTOR, Inputs
from stepcore.ops.pace import Routing
from stepcore.ops.selectors import common_of, need_selector
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import StreamType

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream

_ORDERS = ("branch", "arrival")


class Reassemble(Operator):
    """Join branches into one stream, as a selector says; chunks of one position stay apart."""

    order: str = "branch"
    onehot: bool = False

    summary: ClassVar[str] = "Joins branches into one stream, as a selector says, chunk beside chunk."
    rule: ClassVar[str] = (
        "([N streams of T, each common + [any]], selector of Multihot(_, N)) -> common + [m] + selector.shape of T, "
        "where m is 1 with onehot, else #(selector), how many branches it names at each position"
    )
    details: ClassVar[str] = (
        "For each selector position the next chunk of each selected branch follows, in ascending order of branches. "
        "Accum folds them; Merge does both in one. onehot=True promises exactly one branch for each position. With "
        'order="arrival" that branch comes first whose chunk is there first. A branch must hold exactly as many chunks '
        "as its bits are set; that is checked when the program runs."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def weigh(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:  # x: (M,), chosen: (M, 3)
    return x * chosen.sum(-1)


@step.program(reference=weigh, dims={M: 5})
def count_routes(
    E0: Annotated[step.Stream, step.f32, (M,)], E1: Annotated[step.Stream, step.Multihot(step.f32, 3), (M,)]
) -> Annotated[step.Stream, step.f32, (M,)]:
    E2, E3 = step.Copy().apply(E1)
    E4 = step.Partition(N=3).apply((E0, E2))
    return step.Accum(fn=add, b=1).apply(step.Reassemble().apply((E4, E3)))
"""
    published: ClassVar[tuple[str, ...]] = ("FlatReassemble",)
    params: ClassVar[tuple[Param, ...]] = (
        Param(
            "order",
            ParamKind.CHOICE,
            "Which chunk of a position comes first: by branch, or by arrival.",
            choices=_ORDERS,
        ),
        Param("onehot", ParamKind.FLAG, "Whether the selector names exactly one branch at each position."),
    )
    inputs: ClassVar[Inputs] = BRANCHES_AND_SELECTOR
    routes: ClassVar[Routing] = Routing.GATHERS
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the common inner dimensions, how many chunks a position takes, and the selector's dimensions."""
        if len(operands) < 2:
            found = counted(len(operands), "stream")
            raise RuleError("STEP205", f"Reassemble takes a list of at least one stream, and a selector, found {found}")
        need_choice("Reassemble", self.params[0], self.order)
        *branches, selector = operands
        need_selector(selector, len(branches), ctx, len(branches))
        rejoined = ctx.rejoined(branches, selector)
        element, common = common_of(rejoined, ctx)
        taken = Dim.of(1) if self.onehot else ctx.chosen(selector, len(branches))
        return (StreamType(element, (*common, taken, *selector.type.shape)),)

    def by_arrival(self) -> bool:
        """Return whether it depends on what is there first."""
        return self.order == "arrival"

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Gather along the selector's dimensions as one, then split that one."""
        *branches, selector = inputs
        flat = selector.merge_dims(0, len(selector.sizes) - 1)
        found = rt.reassemble(branches, flat, onehot=self.onehot, by_arrival=self.by_arrival())
        return (rt.split(found, selector.sizes),)

    def apply(self, input: tuple[Sequence[Stream], Stream], name: str = "") -> Stream:
        """Consume branches and selector and return the joined stream."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
