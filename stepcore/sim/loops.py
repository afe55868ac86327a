"""Running loops: their operators move whole outermost chunks, and what closes a loop comes back by it.

Each operator takes what is there of all that it reads, and is applied to these chunks alone; only where results depend
on earlier chunks (:class:`stepcore.ops.pace.Chunking`) is it applied to all so far. When nothing else can move, one
EagerMerge takes one chunk: the first in the program that has some, of its first input that has some, or of the one that
timing decided. When it has none either, loops of a dynamic size end, and with them what waits for their end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Final

import torch

from stepcore.findings.errors import SimError
from stepcore.graph.evaluate import Observer
from stepcore.graph.loops import FeedbackEnd, closing, in_run_order
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.pace import LoopPart, OffChipUse, Routing
from stepcore.sim.arrival_ops import STATED, came_from
from stepcore.sim.data import TensorData
from stepcore.sim.dtypes import torch_dtype
from stepcore.sim.lengths import Lengths
from stepcore.sim.ragged import RaggedData, StreamData, behind_each_other, chunks
from stepcore.sim.runtime import RuntimeImpl
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.wording import counted
from stepcore.types import StreamType, components, dtype_of, element_shape

MOST_CHUNKS: Final = 1 << 14  # that come back by loops of one program


def evaluate_looped(
    graph: TypedGraph, runtime: RuntimeImpl, inputs: Sequence[StreamData], observe: Observer[StreamData] | None = None
) -> list[StreamData]:
    """Run ``graph``, which has loops, and return what each stream holds (:func:`stepcore.graph.evaluate.evaluate`).

    Raises:
        SimError: STEP412 where a loop gets another number of chunks than it says, or streams that are read in step
            differ in length; STEP418 where more comes back than any run should need; else as the operators.
    """
    streams: list[Any] = [None] * len(graph.streams)
    for index, given in zip(graph.inputs, inputs, strict=True):
        streams[index] = given
    for group in in_run_order(graph):
        if len(group) > 1:
            found: Mapping[int, Sequence[StreamData]] = LoopRun(graph, group, runtime, streams).run()
        else:
            found = {group[0].index: runtime.apply(group[0], [streams[index] for index in group[0].inputs])}
        for node in group:
            results = found[node.index]
            for index, result in zip(node.outputs, results, strict=True):
                streams[index] = result
            if observe is not None:
                observe(node, results)
    return streams


class _Flow:
    """The chunks of a stream so far, and whether more will come."""

    def __init__(self, data: StreamData, *, done: bool) -> None:
        self.parts = [data]
        self.count: int = data.sizes[-1]
        self.done = done

    def add(self, data: StreamData) -> bool:
        """Take chunks in; False where there is none."""
        if not data.sizes[-1]:
            return False
        if not self.count:
            self.parts = []
        self.parts.append(data)
        self.count += data.sizes[-1]
        return True

    def between(self, start: int, end: int) -> StreamData:
        """Return the chunks from ``start`` up to ``end``, which is excluded."""
        last = self.parts[-1]
        before = self.count - last.sizes[-1]
        if start < before:
            last, before = self.whole(), 0
        if (start, end) == (before, self.count):
            return last
        return chunks(last, torch.arange(start - before, end - before))

    def whole(self) -> StreamData:
        """Return all chunks."""
        if len(self.parts) > 1:
            self.parts = [behind_each_other(self.parts)]
        return self.parts[0]


class LoopRun:
    """One run of the operators ``group`` of loops that hang together; ``streams`` holds what they read from outside."""

    def __init__(
        self, graph: TypedGraph, group: Sequence[TypedNode], runtime: RuntimeImpl, streams: Sequence[StreamData]
    ) -> None:
        self.graph, self.group, self.runtime = graph, group, runtime
        made = {index for node in group for index in node.outputs}
        read = {index for node in group for index in node.inputs} - made
        self.flows = {index: _Flow(streams[index].force(), done=True) for index in read}
        self.taken = {node.index: [0] * len(node.inputs) for node in group}
        self.given = dict.fromkeys(made, 0)  # chunks of streams that operators give which go by all so far
        self.order: dict[int, list[int]] = {node.index: [] for node in group if node.op.routes is Routing.ARRIVES}
        self.ended_by = {source: end for source, end in closing(graph).items() if source in made}
        for node in group:
            self._begin(node)

    def run(self) -> dict[int, Sequence[StreamData]]:
        """Return what each operator gives, by nodes."""
        while True:
            moved = [node for node in self.group if self._move(node)]
            if moved or any(self._arrive(node) for node in self.group if node.index in self.order):
                continue
            if not self._end_loops():
                break
        for node in self.group:
            self._check(node)
        found: dict[int, Sequence[StreamData]] = {
            node.index: [self.flows[index].whole() for index in node.outputs] for node in self.group
        }
        self.runtime.ran_in_loops((node, found[node.index]) for node in self.group)
        return found

    # Before anything moves ---------------------------------------------------------------------------------------

    def _begin(self, node: TypedNode) -> None:
        """Give the results of ``node`` without any chunk."""
        if node.op.off_chip is not OffChipUse.NOTHING and getattr(node.op, "memory").written:  # noqa: B009  of a port
            text = (
                f"{node.written} uses memory that the run stores inside of a loop, where nothing tells what comes first"
            )
            raise SimError("STEP417", f"{text}; store what leaves the loop", node.index)
        if node.op.looping is LoopPart.BEGINS:
            (index,) = node.outputs
            self.flows[index] = _Flow(self._nothing(self.graph.streams[index].type), done=False)
            return
        nothing = torch.arange(0)
        held = node.op.chunking(self._rank(node)).held
        inputs = [
            self.flows[index].whole() if slot in held else chunks(self.flows[index].whole(), nothing)
            for slot, index in enumerate(node.inputs)
        ]
        if any(data.sizes[-1] == 0 for slot, data in enumerate(inputs) if slot in held):
            results = [self._nothing(self.graph.streams[index].type) for index in node.outputs]
        else:
            results = list(self._apply(node, inputs))
        for index, result in zip(node.outputs, results, strict=True):
            self.flows[index] = _Flow(chunks(result, nothing), done=False)

    def _nothing(self, stream: StreamType) -> StreamData:
        """Return a stream of a type without any chunk."""
        sizes: list[Any] = [self._known(size) for size in stream.shape[:-1]]
        ragged = next((place for place, size in enumerate(stream.shape) if size.is_ragged), None)
        inner = tuple(sizes[:ragged])
        parts = [
            torch.zeros((0, *reversed(inner), *map(self._known, element_shape(part))), dtype=self._dtype(part))
            for part in components(stream.element)
        ]
        packed = TensorData((*inner, 0), stream.element, parts)
        if ragged is None:
            return packed
        levels = [Lengths(torch.arange(0)) if size.is_ragged else self._known(size) for size in stream.shape[ragged:-1]]
        return RaggedData(packed, (*levels, 0))

    def _dtype(self, part: Any) -> torch.dtype:
        return torch_dtype(dtype_of(part), self.runtime.floating)

    def _known(self, size: Dim) -> int:
        """Return a size of a stream without chunks; where only the run tells it nobody sees it."""
        return 0 if size.is_ragged else self._bound_size(size) or 0

    def _bound_size(self, size: Dim) -> int | None:
        """Return a size as far as it is known before the run."""
        try:
            return size.bind(self.runtime.bindings)
        except DimError:
            return None

    def _rank(self, node: TypedNode) -> int:
        return len(self.graph.streams[node.inputs[0]].type.shape) - 1 if node.inputs else 0

    # Moving ----------------------------------------------------------------------------------------------------------

    def _apply(self, node: TypedNode, inputs: Sequence[StreamData]) -> Sequence[StreamData]:
        self.runtime.node = node.index
        runtime: Any = self.runtime  # to the type checker a runtime of one kind of data is no general one
        results: Sequence[Any] = node.op.run(runtime, inputs)
        return results

    def _move(self, node: TypedNode) -> bool:
        """Let ``node`` take all that it can, and say whether anything changed."""
        op = node.op
        if op.looping is LoopPart.BEGINS or (all(self.flows[index].done for index in node.outputs) and node.outputs):
            return False
        if isinstance(op, FeedbackEnd):
            return self._come_back(node, op.source)
        if op.routes is Routing.ARRIVES:
            return self._finish(node)
        chunking = op.chunking(self._rank(node))
        if chunking.at_end:
            return self._at_end(node)
        if op.routes in (Routing.JOINS, Routing.GATHERS):
            moved = self._gather(node)
        else:
            moved = self._in_step(node, chunking.held, chunking.so_far, self.runtime.size(chunking.together))
        return self._finish(node) or moved

    def _in_step(self, node: TypedNode, held: Sequence[int], so_far: bool, together: int) -> bool:
        flows, taken = [self.flows[index] for index in node.inputs], self.taken[node.index]
        if any(not flows[slot].done for slot in held):
            return False
        moving = [slot for slot in range(len(flows)) if slot not in held]
        end = min(flows[slot].count for slot in moving)
        if not all(flows[slot].done for slot in moving):
            end -= end % together
        start = taken[moving[0]]
        if end <= start:
            return False
        first = 0 if so_far else start
        inputs = [flow.whole() if slot in held else flow.between(first, end) for slot, flow in enumerate(flows)]
        results = self._apply(node, inputs)
        for slot in range(len(flows)):
            taken[slot] = flows[slot].count if slot in held else end
        return self._give(node, results, so_far=so_far)

    def _gather(self, node: TypedNode) -> bool:
        """Apply an operator whose selector says how many chunks of which branch it takes: to all so far."""
        *branches, chosen = [self.flows[index] for index in node.inputs]
        asked = _asked(chosen.whole().force(), len(branches))
        there = torch.tensor([branch.count for branch in branches])
        number = int((asked <= there).all(1).sum()) - 1  # of none nothing is asked, and nobody asks for less later
        if number <= self.taken[node.index][-1]:
            return False
        counts = asked[number].tolist()
        self.taken[node.index] = [*counts, number]
        inputs = [branch.between(0, count) for branch, count in zip(branches, counts, strict=True)]
        self._give(node, self._apply(node, [*inputs, chosen.between(0, number)]), so_far=True)
        return True

    def _at_end(self, node: TypedNode) -> bool:
        flows = [self.flows[index] for index in node.inputs]
        if not all(flow.done for flow in flows):
            return False
        self.taken[node.index] = [flow.count for flow in flows]
        self._give(node, self._apply(node, [flow.whole() for flow in flows]), so_far=False)
        return self._finish(node)

    def _give(self, node: TypedNode, results: Sequence[StreamData], *, so_far: bool) -> bool:
        for index, result in zip(node.outputs, results, strict=True):
            new: StreamData = result.force()
            if so_far:
                start, self.given[index] = self.given[index], result.sizes[-1]
                new = chunks(new, torch.arange(start, result.sizes[-1]))
            self.flows[index].add(new)
        return True

    def _arrive(self, node: TypedNode) -> bool:
        """Let an EagerMerge take one chunk."""
        flows, taken, order = (
            [self.flows[index] for index in node.inputs],
            self.taken[node.index],
            self.order[node.index],
        )
        waiting = [slot for slot, flow in enumerate(flows) if flow.count > taken[slot]]
        if not waiting:
            return False
        slot = (self.runtime.order or STATED).next_of(node.index, len(order), waiting)
        order.append(slot)
        taken[slot] += 1
        data, selector = node.outputs
        self.flows[data].add(flows[slot].between(taken[slot] - 1, taken[slot]))
        self.flows[selector].add(came_from(torch.tensor([slot]), len(flows)))
        return True

    def _come_back(self, node: TypedNode, source: int) -> bool:
        (index,) = node.inputs
        closing_flow, loop, taken = self.flows[index], self.flows[source], self.taken[node.index]
        start, taken[0] = taken[0], closing_flow.count
        moved = start < taken[0] and loop.add(closing_flow.between(start, taken[0]))
        if moved:
            self._bound(node, source)
        expected = self._expected(source)
        if not loop.done and (closing_flow.done or loop.count == expected):
            loop.done = moved = True
        return bool(moved)

    def _finish(self, node: TypedNode) -> bool:
        """Let the results of ``node`` end where all that it reads has."""
        flows = [self.flows[index] for index in node.inputs]
        over = all(flow.done for flow in flows) and all(
            count == flow.count for count, flow in zip(self.taken[node.index], flows, strict=True)
        )
        if not over or not node.outputs or all(self.flows[index].done for index in node.outputs):
            return False
        for index in node.outputs:
            self.flows[index].done = True
        return True

    # Ends ------------------------------------------------------------------------------------------------------------

    def _expected(self, source: int) -> int | None:
        """Return how many chunks come back by a loop, as far as that is known before."""
        return self._bound_size(self.graph.streams[source].type.shape[-1])

    def _bound(self, node: TypedNode, source: int) -> None:
        """Refuse more chunks than a loop says, and more than any run should need."""
        count, expected = self.flows[source].count, self._expected(source)
        if expected is not None and count > expected:
            text = f"this loop brings back {counted(expected, 'chunk')} by its dims, and more close it"
            raise SimError("STEP412", f"{text}; write step.dyn(...) where only the run knows how many", node.index)
        if count > MOST_CHUNKS:
            text = f"{count:,} chunks came back by this loop, and still it does not end"
            raise SimError("STEP418", f"{text}: each time round, some have to leave it", node.index)

    def _end_loops(self) -> bool:
        """End the loops of which nobody knows how many chunks come back: nothing moves any more."""
        ended = [source for source in self.ended_by if not self.flows[source].done and self._expected(source) is None]
        for source in ended:
            self.flows[source].done = True
        return bool(ended)

    def _check(self, node: TypedNode) -> None:
        """Look whether all that ``node`` reads was read."""
        flows = [self.flows[index] for index in node.inputs]
        if isinstance(node.op, FeedbackEnd):
            return self._check_loop(node, node.op.source)
        read = zip(self.taken[node.index], flows, strict=True)
        is_short = any(not flow.done or count < flow.count for count, flow in read)
        if is_short and all(self.flows[source].done for source in self.ended_by):
            found = " and ".join(str(flow.count) for flow in flows)
            text = f"{node.written} reads streams of {found} chunks in step, and waits for more of one of them"
            raise SimError("STEP412", text, node.index)
        return None

    def _check_loop(self, node: TypedNode, source: int) -> None:
        loop, expected = self.flows[source], self._expected(source)
        if expected is not None and loop.count < expected:
            came = "none" if not loop.count else f"only {loop.count}"
            text = f"this loop brings back {counted(expected, 'chunk')} by its dims, and {came} came till nothing moved"
            raise SimError("STEP412", f"{text}; write step.dyn(...) where only the run knows how many", node.index)
        found: Mapping[int, Any] = dict(enumerate(loop.whole().sizes[:-1]))
        for place, size in enumerate(self.graph.streams[source].type.shape[:-1]):
            wanted = None if size.is_ragged else self._bound_size(size)
            if loop.count and wanted is not None and found[place] != wanted:
                text = f"lists of {found[place]} elements come back by this loop along dimension {place}, not {wanted}"
                raise SimError("STEP412", text, node.index)


def _asked(selector: Any, branches: int) -> torch.Tensor:
    """Return how many chunks of each branch the first 0, 1, ... chunks of a selector ask for, a row for each."""
    bits = (selector.dense()[0] != 0).reshape(selector.sizes[-1], prod(selector.sizes[:-1]), branches)
    none = torch.zeros((1, branches), dtype=torch.int64)
    return torch.cat([none, bits.sum(1).cumsum(0)])
