"""Merge: join branches again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

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
    element_mismatch,
    mismatch,
)  # fmt: skip
from stepcore.ops.calling import BRANCHES_AND_SELECTOR, Inputs
from stepcore.ops.functions import need_element, need_fn
from stepcore.ops.pace import Routing
from stepcore.ops.selectors import need_selector
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import StreamType, element_count, same_element, same_shape

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime
    from stepcore.surface.stream import Stream


class Merge(Operator):
    """Fold, for each position of a selector, the next chunk of each selected branch."""

    fn: FnLike
    bw: Dim | int | None = None

    summary: ClassVar[str] = "Joins branches into one stream, as a selector says."
    rule: ClassVar[str] = (
        "([N streams of T, each common + [any]], selector of Multihot(_, N)) -> common + selector.shape of fn.output, "
        "where fn.input == T"
    )
    details: ClassVar[str] = (
        "For each selector position the next chunk of each selected branch, in ascending order of branches, is folded "
        "with the function, starting from its init. Where no bit is set the result is zero. A branch must hold exactly "
        "as many chunks as its bits are set; that is checked when the program runs."
    )
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def weigh(x: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:  # x: (M, K), chosen: (M, 3)
    return x * chosen.sum(-1, keepdim=True)


@step.program(reference=weigh, dims={K: 9, M: 5})
def count_routes(
    E0: Annotated[step.Stream, step.f32, (K, M)], E1: Annotated[step.Stream, step.Multihot(step.f32, 3), (M,)]
) -> Annotated[step.Stream, step.f32, (K, M)]:
    E2, E3 = step.Copy().apply(E1)
    E4 = step.Partition(N=3).apply((E0, E2))
    return step.Merge(fn=add).apply((E4, E3))
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param(
            "fn", ParamKind.FN, "The function with a state that joins the chunks; its input type must be T.", folds=True
        ),
    )
    common: ClassVar[tuple[Param, ...]] = (*Operator.common, BW)
    inputs: ClassVar[Inputs] = BRANCHES_AND_SELECTOR
    routes: ClassVar[Routing] = Routing.JOINS

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the common inner dimensions followed by the selector's."""
        if len(operands) < 2:
            found = counted(len(operands), "stream")
            raise RuleError("STEP205", f"Merge takes a list of at least one stream, and a selector, found {found}")
        need_fn("Merge", self.fn, state=True)
        *given, selector = operands
        need_selector(selector, len(given), ctx, len(given))
        branches = ctx.rejoined(given, selector)
        self._check_branches(branches, ctx)
        first = branches[0].type
        fn = need_element(self.fn, first.element, ctx, branches[0].name)
        return (StreamType(fn.output, first.shape[:-1] + selector.type.shape),)

    def _check_branches(self, branches: Sequence[Operand], ctx: TypingContext) -> None:
        first = branches[0]
        for index, branch in enumerate(branches[1:], 1):
            if not same_element(first.type.element, branch.type.element, ctx.facts):
                what = f"branch {branch.name} differs in its elements from {first.name}"
                text = element_mismatch(what, first.type.element, branch.type.element)
                raise RuleError("STEP208", text, RuleSubject.input(index))
            common, found = first.type.shape[:-1], branch.type.shape[:-1]
            if not same_shape(common, found, ctx.facts):
                what = f"branch {branch.name} differs from {first.name} in other than the outermost dimension"
                raise RuleError("STEP207", mismatch(what, common, found, ctx.facts), RuleSubject.input(index))

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Merge along the selector's dimensions as one, then split that one."""
        *branches, selector = inputs
        merged = rt.merge(self.fn, branches, selector.merge_dims(0, len(selector.sizes) - 1))
        return (rt.split(merged, selector.sizes),)

    def calls(self, inputs: Sequence[StreamType]) -> tuple[tuple[FnLike, Dim], ...]:
        """Return the function, applied to every element of every branch."""
        return ((self.fn, sum((element_count(branch.shape) for branch in inputs[:-1]), Dim.of(0))),)

    def apply(self, input: tuple[Sequence[Stream], Stream], name: str = "") -> Stream:
        """Consume branches and selector and return the joined stream."""
        stream: Stream = Operator.execute(self, input, name)
        return stream
