"""Loops in graphs: where they end, which operators go round together, and in which order all of them can run.

A graph has no cycles: the end of a loop names the stream that the loop gives (:mod:`stepcore.ops.feedback`). With these
links followed, the operators of a loop are those from which each of them can be reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar

from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.base import (
    Operand,
    Operator,
    Param,
    RuleError,
    RuleSubject,
    TypingContext,
    element_mismatch,
    mismatch,
)
from stepcore.ops.calling import NO_OUTPUT, Outputs
from stepcore.ops.pace import LoopPart
from stepcore.sizes.dim import OPEN, Dim
from stepcore.types import StreamType, same_element, tensor_shapes

if TYPE_CHECKING:
    from stepcore.ops.runtime import Data, Runtime


class FeedbackEnd(Operator):
    """``loop.close(y)``: the end of the loop whose stream has the number ``source``. No program names it."""

    source: int = -1

    summary: ClassVar[str] = "Ends a loop."
    rule: ClassVar[str] = "dims of element -> nothing"
    common: ClassVar[tuple[Param, ...]] = ()
    outputs: ClassVar[Outputs] = NO_OUTPUT
    looping: ClassVar[LoopPart] = LoopPart.ENDS
    generation: ClassVar[int] = 2

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return nothing; what closes a loop has its type, but for sizes that only the run knows."""
        assert ctx.program is not None, "loops are of programs"
        loop = ctx.program.streams[self.source].type
        if loop is not None:
            need_fitting(loop, operands[0], ctx)
        return ()

    def text(self) -> str:
        """Return the operator as one writes it."""
        return "loop.close()"

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Do nothing: loops are run chunk by chunk, and nobody asks here for what comes back."""
        return ()


def need_fitting(loop: StreamType, closing: Operand, ctx: TypingContext) -> None:
    """Raise unless ``closing`` may come back by a loop of the type ``loop``.

    A size that only a run knows, on either side, fits where the run can compare it: all but ragged ones of inputs.

    Raises:
        RuleError: STEP208 for other elements, STEP207 for another shape.
    """
    found = closing.type
    if not same_element(loop.element, found.element, ctx.facts):
        what = f"{closing.name} closes a loop of other elements"
        raise RuleError("STEP208", element_mismatch(what, loop.element, found.element), RuleSubject.input(0))
    taken = {name for port in ctx.ports for shape in tensor_shapes(port.type) for s in shape for name in s.symbols()}
    pairs = list(zip(loop.shape, found.shape, strict=False))
    if len(loop.shape) == len(found.shape) and all(_fits(one, other, taken, ctx) for one, other in pairs):
        return
    what = f"{closing.name} closes a loop of another shape"
    raise RuleError("STEP207", mismatch(what, loop.shape, found.shape, ctx.facts), RuleSubject.input(0))


def _fits(wanted: Dim, found: Dim, taken: set[str], ctx: TypingContext) -> bool:
    if ctx.facts.equal(wanted, found):
        return True
    if wanted.is_ragged:
        return wanted.is_symbol and str(wanted)[0] in OPEN and str(wanted) not in taken
    return not found.is_ragged and (wanted.is_open or found.is_open)


def closing(graph: TypedGraph) -> dict[int, int]:
    """Return the streams that close loops, by the streams that the loops give."""
    return {node.op.source: node.inputs[0] for node in graph.nodes if isinstance(node.op, FeedbackEnd)}


def in_run_order(graph: TypedGraph) -> list[tuple[TypedNode, ...]]:
    """Return the operators in an order in which they can run: one, or all of loops that hang together.

    Operators that need nothing of each other stay in the order of the program.
    """
    before = _producers(graph)
    groups = _groups(graph, before)
    group_of = {index: number for number, group in enumerate(groups) for index in group}
    needs: list[set[int]] = [set() for _ in groups]
    for index, producers in before.items():
        needs[group_of[index]].update(group_of[each] for each in producers if group_of[each] != group_of[index])
    after: list[list[int]] = [[] for _ in groups]
    for number, needed in enumerate(needs):
        for each in needed:
            after[each].append(number)
    left = [len(needed) for needed in needs]
    ready = [(group[0], number) for number, group in enumerate(groups) if not left[number]]
    heapify(ready)
    found: list[tuple[TypedNode, ...]] = []
    while ready:
        _, number = heappop(ready)
        found.append(tuple(graph.nodes[index] for index in groups[number]))
        for each in after[number]:
            left[each] -= 1
            if not left[each]:
                heappush(ready, (groups[each][0], each))
    return found


def _producers(graph: TypedGraph) -> dict[int, list[int]]:
    """Return the nodes whose results each node needs, the end of a loop being needed by its begin."""
    made = {index: node.index for node in graph.nodes for index in node.outputs}
    found = {node.index: [made[index] for index in node.inputs if index in made] for node in graph.nodes}
    for node in graph.nodes:
        if isinstance(node.op, FeedbackEnd):
            found[made[node.op.source]].append(node.index)
    return found


def _groups(graph: TypedGraph, before: Mapping[int, Iterable[int]]) -> list[list[int]]:
    after: dict[int, list[int]] = {index: [] for index in before}
    for index, producers in before.items():
        for each in producers:
            after[each].append(index)
    grouped: set[int] = set()
    found: list[list[int]] = []
    for node in graph.nodes:
        if node.op.looping is LoopPart.BEGINS and node.index not in grouped:
            group = _reached(node.index, after) & _reached(node.index, before)
            grouped |= group
            found.append(sorted(group))
    return [*found, *([index] for index in before if index not in grouped)]


def _reached(start: int, edges: Mapping[int, Iterable[int]]) -> set[int]:
    found, rest = {start}, [start]
    while rest:
        for each in edges[rest.pop()]:
            if each not in found:
                found.add(each)
                rest.append(each)
    return found
