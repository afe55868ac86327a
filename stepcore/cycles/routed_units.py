"""Units that route, gather, merge and deal: where elements go, a selector says, or arrival decides."""

from __future__ import annotations

from collections.abc import Callable

from stepcore.cycles.arrival_levels import LaneMissing, in_order
from stepcore.cycles.call_work import CallWork
from stepcore.cycles.program_network import NotTimed, is_free
from stepcore.cycles.routes import Rows, arrival_of, arrival_rows
from stepcore.cycles.tokens import SizeLevel
from stepcore.graph.typed import TypedNode
from stepcore.ops.pace import Routing
from stepcore.sizes.dim import Dim
from stepcore.timing.microcode import Instruction, times
from stepcore.timing.unit_programs import (
    Amount,
    eager_merge_unit,
    merge_lists_unit,
    merge_unit,
    parallelize_free_unit,
    parallelize_unit,
    partition_unit,
    reassemble_unit,
)
from stepcore.types import Shape


class RoutedUnits(CallWork):
    """Partition, Merge, Reassemble, EagerMerge and Parallelize, and the sizes that they make."""

    def _bind_routed(self) -> None:
        """Bind the sizes that only the data know, or arrival."""
        for index, levels in self.routes.levels.items():
            self._open(index, levels)
        for node in self.graph.nodes:
            ran, arrival = (known.get(node.index, ()) for known in (self.routes.ran, self.routes.arrival))
            if is_free(node) and ran != arrival:  # the run dealt otherwise
                own = [str(self._type(index).shape[-1]) for index in node.outputs[:-1]]
                for text in [text for text in self.sizes if any(name in text for name in own)]:
                    del self.sizes[text]
        for node in self.graph.nodes:
            if node.op.routes in (Routing.SPLITS, Routing.DEALS):
                self._bind_branches(node)
            elif node.op.routes is Routing.GATHERS:
                self._bind_gathered(node)
        self._open_known()
        if self.opened and self.routes.arrival:
            self._reorder()

    def _reorder(self) -> None:
        """Put the lists of a run into the order that arrival decides."""
        if self.loops and self.routes.ran != self.routes.arrival:
            raise NotTimed("lists go round in another order than in the run")

        def decided(node: TypedNode) -> tuple[list[int], list[int]]:
            ran, now = self.routes.ran.get(node.index, ()), self._arrival(node)
            return (list(ran) if node.op.routes is Routing.ARRIVES else arrival_rows(node, ran, [len(now)])), now

        try:
            self.opened.update(in_order(self.graph, self.opened, decided))
        except (LaneMissing, ValueError) as error:
            text = "lanes are made of different operators, and what a chunk becomes in the other one no run has told"
            raise NotTimed(f"{text} ({error})") from error

    def _bind_branches(self, node: TypedNode) -> None:
        """Bind how many chunks each branch gets."""
        if node.op.routes is Routing.DEALS:
            lanes = node.outputs[:-1]
            decided = self._arrival(node)
            counts = [decided.count(lane) for lane in range(len(lanes))]
        else:
            lanes, rows = node.outputs, self._selected(node)
            every = self._tokens(node.inputs[-1])
            counts = [every if rows is None else sum(k in row for row in rows) for k in range(len(lanes))]
        for index, count in zip(lanes, counts, strict=True):
            self.sizes[str(self._type(index).shape[-1])] = count

    def _bind_gathered(self, node: TypedNode) -> None:
        """Say how many chunks stand side by side at each position of the selector."""
        (out,), selector, rows = node.outputs, node.inputs[-1], self._selected(node)
        inner, gathered, outer = split_shape(self._type(out).shape, self._type(selector).shape)
        if gathered.constant is not None:
            return
        counts = [len(node.inputs) - 1] if rows is None else [len(row) for row in rows]
        self.sizes[str(gathered)] = max(counts, default=0)
        if rows is not None:
            self.lengths[str(gathered)] = counts
        if rows is not None and out not in self.opened:
            sizes: list[SizeLevel] = [self.number(size) for size in (*inner, *outer)]
            sizes.insert(len(inner), counts)
            self._open(out, sizes)

    def _arrival(self, node: TypedNode) -> list[int]:
        """Return which input, or lane, is next, one decision after the other."""
        outermost = [self.number(self._type(index).shape[-1]) for index in node.inputs]
        return arrival_rows(node, self.routes.arrival.get(node.index, ()), outermost)

    def _selected(self, node: TypedNode) -> Rows | None:
        """Return the branches at each position of a selector; None where every branch is taken everywhere.

        Raises:
            NotTimed: the routes are none of this program at these sizes.
        """
        selector = node.inputs[-1]
        if (decider := arrival_of(self.graph, selector)) is not None:
            return [(place,) for place in self._arrival(decider)]
        if self.routes.source == "every":
            return None
        rows = self.routes.rows.get(selector)
        branches = len(node.outputs) if node.op.routes is Routing.SPLITS else len(node.inputs) - 1
        if rows is None or len(rows) != self._tokens(selector):
            raise NotTimed(f"it is not known where {node.op_name} routes to")
        if any(row and row[-1] >= branches for row in rows):
            raise NotTimed(f"{node.op_name} has {branches} branches, and its selector names others")
        return rows

    def _routed_body(self, node: TypedNode) -> list[Instruction]:
        """Return what a unit does that routes, deals out, or brings together."""
        match node.op.routes:
            case Routing.SPLITS:
                return self._split(node)
            case Routing.JOINS:
                return self._join(node)
            case Routing.GATHERS:
                return self._gather(node)
            case Routing.ARRIVES:
                return self._merge_eagerly(node)
        return self._deal(node)

    def _by_rows(self, node: TypedNode, branches: int, body: Callable[[Rows], list[Instruction]]) -> list[Instruction]:
        """Return what ``body`` does for the rows of a selector; the same each time, where every branch is named."""
        rows = self._selected(node)
        return times(self._tokens(node.inputs[-1]), body([tuple(range(branches))])) if rows is None else body(rows)

    def _split(self, node: TypedNode) -> list[Instruction]:
        """Partition: after a selector the elements of its chunk, each to the branches in ascending order."""
        (data, selector), outputs = node.inputs, [self.channel[index] for index in node.outputs]
        inner = len(self._type(data).shape) - len(self._type(selector).shape)
        cycles = self.hardware.unit.switch
        opened = self.opened.get(data)
        switch = cycles if opened is None else [cycles if is_element else 0 for is_element in opened.elements]
        ins, sizes = (self.channel[data], self.channel[selector]), self._chunks(data, inner)
        return self._by_rows(node, len(outputs), lambda rows: partition_unit(*ins, outputs, rows, sizes, switch))

    def _join(self, node: TypedNode) -> list[Instruction]:
        """Merge: after a selector the chunk of one branch after the other; with the last one come the results."""
        *inputs, selector = [self.channel[index] for index in node.inputs]
        (out,) = node.outputs
        each, last = self._work(node, node.inputs[:1])
        rows = self._selected(node)
        if rows is not None and any(index in self.opened for index in (*node.inputs, out)):
            chunks = [self._stream(index).tokens.chunks(len(self._type(index).shape) - 1) for index in node.inputs[:-1]]
            given = self._stream(out).tokens.groups(len(self._type(out).shape) - len(self._type(node.inputs[-1]).shape))
            zeros = [size for size, row in zip(given, rows, strict=True) if not row]
            return merge_lists_unit(inputs, selector, self.channel[out], rows, chunks, zeros, (each, last))
        size = self._tokens(out) // max(self._tokens(node.inputs[-1]), 1)
        to = self.channel[out]
        return self._by_rows(node, len(inputs), lambda rows: merge_unit(inputs, selector, to, rows, size, each, last))

    def _gather(self, node: TypedNode) -> list[Instruction]:
        """Reassemble: after a selector the chunks of its branches, in their order or that of arrival."""
        *inputs, selector = [self.channel[index] for index in node.inputs]
        sizes: list[Amount] = [self._chunks(index, len(self._type(index).shape) - 1) for index in node.inputs[:-1]]
        by_arrival = node.op.param_values()["order"] == "arrival" and self._selected(node) is not None
        to = self.channel[node.outputs[0]]
        return self._by_rows(
            node, len(inputs), lambda rows: reassemble_unit(inputs, selector, to, rows, sizes, by_arrival=by_arrival)
        )

    def _merge_eagerly(self, node: TypedNode) -> list[Instruction]:
        """EagerMerge: whole outermost chunks in order of arrival."""
        data, selector = [self.channel[index] for index in node.outputs]
        sizes: list[Amount] = [self._chunks(index, len(self._type(index).shape) - 1) for index in node.inputs]
        inputs, total = [self.channel[index] for index in node.inputs], len(self._arrival(node))
        return eager_merge_unit(inputs, data, selector, total, sizes)

    def _deal(self, node: TypedNode) -> list[Instruction]:
        """Parallelize: outermost chunks to lanes in turn, or to the lane that has room first."""
        (data,), (*lanes, selector) = node.inputs, [self.channel[index] for index in node.outputs]
        sizes, chunks = self._chunks(data, len(self._type(data).shape) - 1), len(self._arrival(node))
        if is_free(node):
            return parallelize_free_unit(self.channel[data], lanes, selector, chunks, sizes)
        switch = self.hardware.unit.switch
        return parallelize_unit(self.channel[data], lanes, selector, chunks, sizes, switch=switch)


def split_shape(shape: Shape, selector: Shape) -> tuple[Shape, Dim, Shape]:
    """Return the parts of Reassemble's shape: that of a chunk, how many stand side by side, that of the selector."""
    inner = len(shape) - len(selector) - 1
    return shape[:inner], shape[inner], shape[inner + 1 :]
