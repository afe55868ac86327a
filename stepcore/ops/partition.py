"""Partition: route chunks of a stream to branches."""

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
    need_size,
)  # fmt: skip
from stepcore.ops.calling import Inputs, Many, Outputs, pair
from stepcore.ops.pace import Routing
from stepcore.ops.selectors import need_selector
from stepcore.types import StreamType, same_shape

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Partition(Operator):
    """Send each chunk of a stream to the branches that a selector names."""

    N: int

    summary: ClassVar[str] = "Routes the chunks of a stream to branches, as a selector says."
    rule: ClassVar[str] = (
        "(data of T, selector of Multihot(_, N) and rank r) -> N streams, the i-th shape[:R-r] + [#(selector, i)] of "
        "T, where selector.shape == data.shape[R-r:]"
    )
    details: ClassVar[str] = (
        "The chunk at each selector position goes, in order, to every branch whose bit is set (nonzero). How many each "
        "branch gets depends on the data: #(s, i), how often the selector s names branch i, is the outermost size of "
        "branch i, the same for whatever copies of s route. A ragged size X inside becomes X@(s, i). A branch may stay "
        "empty. Merge with a copy of the same selector joins the branches again."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32)
def negate(input):
    return [-input[0]]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def both(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:  # x: (M,), chosen: (M, 2)
    return 2 * x * chosen[:, 0] - x * chosen[:, 1]


@step.program(reference=both, dims={M: 5})
def route(
    E0: Annotated[step.Stream, step.f32, (M,)], E1: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)]
) -> Annotated[step.Stream, step.f32, (M,)]:
    E2, E3 = step.Copy().apply(E1)
    E4 = step.Partition(N=2).apply((E0, E2))
    E5 = [step.Map(fn=f).apply(branch) for f, branch in zip([double, negate], E4)]
    return step.Merge(fn=add).apply((E5, E3))
"""
    published: ClassVar[tuple[str, ...]] = ("FlatPartition",)
    params: ClassVar[tuple[Param, ...]] = (
        Param("N", ParamKind.INTEGER, "The number of branches: the length of the selector."),
    )
    inputs: ClassVar[Inputs] = pair("SELECTOR", selects=True)
    outputs: ClassVar[Outputs] = Outputs(Many(count="N"))
    routes: ClassVar[Routing] = Routing.SPLITS

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return one stream per branch."""
        need_inputs(self, operands, 2)
        need_size("Partition", "N", self.N, ctx)
        data, selector = operands[0].type, operands[1].type
        need_selector(operands[1], self.N, ctx, 1, operands[0])
        inner = max(data.rank - selector.rank, 0)
        if not same_shape(data.shape[inner:], selector.shape, ctx.facts):
            what = f"{operands[1].name} must have the shape of the outermost dimensions of {operands[0].name}"
            text = mismatch(what, data.shape[inner:], selector.shape, ctx.facts)
            raise RuleError("STEP207", text, RuleSubject.input(1))
        return ctx.branches(data.element, data.shape[:inner], operands[1], self.N)

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Select, per branch, along the merged dimensions of the selector."""
        data, selector = inputs
        inner = len(data.sizes) - len(selector.sizes)
        data, selector = data.merge_dims(inner, len(data.sizes) - 1), selector.merge_dims(0, len(selector.sizes) - 1)
        return tuple(rt.select(data, selector, branch) for branch in range(self.N))

    def apply(self, input: tuple[Stream, Stream], name: str = "") -> list[Stream]:
        """Consume data and selector and return the branches."""
        branches: list[Stream] = Operator.execute(self, input, name)
        return branches
