"""The lists of a run in the order that arrival decides: what lanes got there, and came first, they get otherwise here.

A functional run deals in turn and merges in ascending order, or in an order that it was given. Where arrival decides
otherwise, the chunks are the same, but others of them stand in a lane, or in another order. A chunk is known by where
it came from (its *key*); lanes that are made of the same operators make the same of it, so that its tokens in one lane
are those that it had in another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from stepcore.cycles.routes import arrival_of, merged
from stepcore.cycles.tokens import StreamTokens
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.pace import Routing

Keys: TypeAlias = list[tuple[int, int]]  # of the outermost chunks of a stream: a node or stream, and a number
Orders: TypeAlias = tuple[list[int], list[int]]  # what a node decided in the run (as far as known), and decides


class LaneMissing(Exception):
    """No lane of the run made of a chunk what this one would."""


def in_order(
    graph: TypedGraph, opened: Mapping[int, StreamTokens], decided: Callable[[TypedNode], Orders]
) -> dict[int, StreamTokens]:
    """Return the tokens of those streams of ``opened`` that arrival puts into another order, in this one.

    Raises:
        LaneMissing: a lane gets what no lane like it got in the run.
    """
    known = _Chunks(graph, decided)
    for node in graph.nodes:
        known.follow(node)
    chunks: dict[Any, dict[tuple[int, int], StreamTokens]] = {}
    for index, (before, _now) in known.keys.items():
        if index in opened:
            held = chunks.setdefault(known.made[index], {})
            held.update(zip(before, opened[index].lists(len(graph.streams[index].type.shape) - 1), strict=True))
    found: dict[int, StreamTokens] = {}
    for index, (before, now) in known.keys.items():
        if index in opened and before != now:
            held = chunks[known.made[index]]
            if not held.keys() >= set(now):
                raise LaneMissing(graph.streams[index].name)
            ends = [end for key in now for end in held[key].ends]
            found[index] = StreamTokens(ends, [is_element for key in now for is_element in held[key].elements])
    return found


class _Chunks:
    """By stream: the keys of its chunks in the run and now, and how it is made, which twins in other lanes share."""

    def __init__(self, graph: TypedGraph, decided: Callable[[TypedNode], Orders]) -> None:
        self.graph, self.decided = graph, decided
        self.orders: dict[int, Orders] = {}
        self.keys: dict[int, tuple[Keys, Keys]] = {}
        self.made: dict[int, Any] = {}

    def follow(self, node: TypedNode) -> None:
        """Take in what a node makes."""
        routes = node.op.routes
        if routes is Routing.DEALS:
            self.orders[node.index] = self.decided(node)
            self._branches(node, node, node.outputs[:-1])
        elif routes is Routing.SPLITS:
            decider = arrival_of(self.graph, node.inputs[-1])
            if decider is not None:
                self._branches(node, decider, node.outputs)
        elif routes is Routing.ARRIVES:
            self._merged(node)
        elif not routes.by_selector:
            self._passed(node)

    def _branches(self, node: TypedNode, decider: TypedNode, lanes: tuple[int, ...]) -> None:
        orders = self.orders[decider.index]
        for lane, index in enumerate(lanes):
            before, now = ([(node.index, j) for j, to in enumerate(order) if to == lane] for order in orders)
            self.keys[index], self.made[index] = (before, now), ("branch", node.index)

    def _merged(self, node: TypedNode) -> None:
        ran, now = self.decided(node)
        chunks = [self._chunks(index, now.count(place)) for place, index in enumerate(node.inputs)]
        was = merged(ran, [len(before) for before, _now in chunks])  # lanes had others in the run
        self.orders[node.index] = was, now
        self.keys[node.outputs[0]] = self._picked(was, chunks, 0), self._picked(now, chunks, 1)
        self.made[node.outputs[0]] = "merged", node.index

    def _picked(self, order: list[int], chunks: list[tuple[Keys, Keys]], which: int) -> Keys:
        left = [list(reversed(pair[which])) for pair in chunks]
        if any(order.count(place) != len(keys) for place, keys in enumerate(left)):
            raise LaneMissing("chunks that are merged")
        return [left[place].pop() for place in order]

    def _chunks(self, index: int, count: int) -> tuple[Keys, Keys]:
        own = [(~index, number) for number in range(count)]
        return self.keys.get(index, (own, own))

    def _passed(self, node: TypedNode) -> None:
        streams = self.graph.streams
        known = [index for index in node.inputs if index in self.keys]
        for slot, index in enumerate(node.outputs):
            for before in known:
                if streams[before].type.shape[-1] == streams[index].type.shape[-1]:
                    self.keys[index] = self.keys[before]
                    self.made[index] = node.op_name, slot, tuple(self.made.get(each) for each in node.inputs)
                    break
