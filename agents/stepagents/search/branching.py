"""Moves into, inside and out of the branches of Partitions: what depends on sizes that only the data decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from stepagents.search.costs import CostModel
from stepagents.search.goals import placed
from stepagents.search.items import SearchStep, SearchStream, is_open, joined, selects
from stepagents.search.joins import EmbeddedStream, Joins, JoinTable
from stepagents.search.lattice import best_first
from stepagents.search.options import Counters
from stepagents.search.routing import Branch, Merges
from stepagents.search.running import FAILURES, MoveRunner
from stepagents.search.space import Space
from stepagents.search.tiles import side_by_side
from stepagents.search.values import Values
from stepcore.fn.decl import FnDecl
from stepcore.ops.flatten import Flatten
from stepcore.ops.merge import Merge
from stepcore.ops.partition import Partition
from stepcore.ops.promote import Promote
from stepcore.ops.repeat_ref import RepeatRef
from stepcore.types import Multihot, Shape

_MAX_BRANCHES: Final = 16


class Branching:
    """Routing for one search: queues moves with ``push``, and gives ``keep`` what comes of them."""

    def __init__(
        self,
        space: Space,
        costs: CostModel,
        values: Values,
        runner: MoveRunner,
        joins: Joins,
        counters: Counters,
        push: Callable[[float, Callable[[float], None]], None],
        keep: Callable[..., None],
    ) -> None:
        self._space = space
        self._costs = costs
        self._values = values
        self._runner = runner
        self._joins = joins
        self._counters = counters
        self._push = push
        self._keep_all = keep
        self._merges = Merges()
        self._selectors: list[SearchStream] = []
        self._single: list[SearchStream] = []
        self._open: list[SearchStream] = []

    def meet(self, item: SearchStream) -> None:
        """Queue what a new stream makes possible as a selector or as the stream of a branch."""
        if selects(item.element):
            self._select_by(item)
        branch = self._values.branches.get(item.shape[-1])
        if branch is not None:
            self._merge_with(item, branch)

    def offer(self, table: JoinTable, places: tuple[EmbeddedStream, ...], cost: float) -> None:
        """Queue the ways to route arguments of one function together, or to leave a branch together."""
        for selector in self._selectors:
            self._route(table, places, cost, selector)
        self._zip_in_branch(table, places, cost)

    def _select_by(self, selector: SearchStream) -> None:
        """Route all that could be arguments so far by a new selector."""
        if any(is_open(size) for size in selector.shape):
            return
        self._selectors.append(selector)
        for table in self._joins.tables():
            for cost, places in table.found:
                self._route(table, places, cost, selector)

    def _route(self, table: JoinTable, places: tuple[EmbeddedStream, ...], cost: float, selector: SearchStream) -> None:
        assert isinstance(selector.element, Multihot)
        length = selector.element.length.bind(self._space.bindings)
        if table.target[-len(selector.shape) :] != selector.shape or not 1 <= length <= _MAX_BRANCHES:
            return
        if any(place.item is selector for place in places):
            return
        context = places[0].item.move
        total = max(cost, selector.cost) + 0.3 * min(cost, selector.cost) + self._costs("Partition", context)
        self._push(total, lambda at: self._partition(table.target, places, selector, length, at))

    def _partition(
        self, target: Shape, places: tuple[EmbeddedStream, ...], selector: SearchStream, length: int, cost: float
    ) -> None:
        self._counters.candidates += 1
        args = tuple(placed(place, target, self._space) for place in places)
        try:
            types, columns = self._runner.partition(args, selector, length)
        except FAILURES:
            return
        for branch, kind in zip(self._values.branches_of(selector, length), types, strict=True):
            self._values.branches[kind.shape[-1]] = branch
        step = SearchStep((Partition(N=length),), (*args, selector), "Partition")
        self._keep_all(step, types, columns, cost, _united(step.args))

    def _zip_in_branch(self, table: JoinTable, places: tuple[EmbeddedStream, ...], cost: float) -> None:
        """Zip streams of a branch that a merge takes together. Elsewhere a Zip is part of what takes its result."""
        element = joined(place.item.element for place in places)
        if len(places) > 1 and table.target[-1] in self._values.branches and element in self._space.merges:
            args = tuple(placed(place, table.target, self._space) for place in places)
            self._push(cost + self._costs("Zip"), partial(self._zip, args))

    def _zip(self, args: tuple[SearchStream, ...], cost: float) -> None:
        self._counters.candidates += 1
        step = SearchStep((), args, "Zip")
        types, columns = self._runner.apply(step)
        self._keep_all(step, types, columns, cost, _united(args))

    def spread(self, item: SearchStream) -> None:
        """Let single values meet streams of a branch: only RepeatRef can repeat as often as the data decide."""
        if len(item.shape) != 1:
            return
        if is_open(item.shape[0]):
            self._open.append(item)
            pairs = [(single, item) for single in self._single]
        elif item.shape[0].constant == 1:
            self._single.append(item)
            pairs = [(item, ref) for ref in self._open]
        else:
            return
        for single, ref in pairs:
            cost = max(single.cost, ref.cost) + self._costs("RepeatRef")
            self._push(cost, partial(self._repeat_as, single, ref))

    def _repeat_as(self, single: SearchStream, ref: SearchStream, cost: float) -> None:
        self._counters.candidates += 1
        try:
            inner = SearchStep((Promote(b=1),), (ref,), "Promote")
            (kind,), (data,) = self._runner.apply(inner)
            promoted = SearchStream(-1, kind, data, inner, 0, ref.cost, ref.uses, move="Promote")
            repeat = SearchStep((RepeatRef(),), (single, promoted), "RepeatRef")
            (kind,), (data,) = self._runner.join(repeat)
            whole = SearchStep(
                (Flatten(L=(1,)),), (SearchStream(-1, kind, data, repeat, 0, cost, move="RepeatRef"),), "RepeatRef"
            )
            types, columns = self._runner.apply(whole)
        except FAILURES:
            return
        self._keep_all(whole, types, columns, cost, _united((single, ref)))

    def _merge_with(self, item: SearchStream, branch: Branch) -> None:
        """Queue the merges that a new stream of a branch makes possible."""
        if self._space.tiles and _is_onehot(branch.selector):
            columns = self._merges.enter(item, branch, str(item.element), item.cost)
            if columns is not None:
                self._next_merge(None, branch.selector, best_first([columns], self._costs("further argument")))
        for fn in self._space.merges.get(item.element, ()):
            columns = self._merges.enter(
                item, branch, fn.func_name, item.cost + self._values.merge_cost(item, branch, fn)
            )
            if columns is not None:
                combinations = best_first([columns], self._costs("further argument"))
                self._next_merge(fn, branch.selector, combinations)

    def _next_merge(
        self, fn: FnDecl | None, selector: SearchStream, combinations: Iterator[tuple[float, tuple[SearchStream, ...]]]
    ) -> None:
        following = next(combinations, None)
        if following is None:
            return
        cost, items = following

        def take(at: float) -> None:
            self._next_merge(fn, selector, combinations)
            self._merge(fn, selector, items, at)

        self._push(cost + self._costs("Reassemble" if fn is None else "Merge"), take)

    def _merge(self, fn: FnDecl | None, selector: SearchStream, items: tuple[SearchStream, ...], cost: float) -> None:
        self._counters.candidates += 1
        ops, name = ((Merge(fn=fn),), "Merge") if fn is not None else (side_by_side(items[0].shape[:-1]), "Reassemble")
        step = SearchStep(ops, (*items, selector), name)
        try:
            types, columns = self._runner.join(step)
        except FAILURES:
            return
        used = () if fn is None else (fn.func_name,)
        self._keep_all(step, types, columns, cost, tuple(dict.fromkeys((*_united(step.args), *used))))


def _is_onehot(selector: SearchStream) -> bool:
    """Return whether each position of a selector names one branch in all data sets."""
    return all(bool(((data.dense()[0] != 0).sum(-1) == 1).all()) for data in selector.data)


def _united(items: Sequence[SearchStream]) -> tuple[str, ...]:
    """Return the functions on the way to any of ``items``."""
    return tuple(dict.fromkeys(name for item in items for name in item.uses))
