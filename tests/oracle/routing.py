"""The operators that route, chunk by chunk, on nested lists.

Positions and sizes are innermost first.  Every broken rule raises `OracleError`. Where the paper decides by arrival,
branches come in ascending order and lanes in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .base import Operator, check_selector, pair, selected, single
from .elements import Multihot, Scalar
from .lists import Size, nested, positions
from .streams import Fn, Item, Stream, require


def _branches(inputs: Any) -> list[Stream]:
    require(isinstance(inputs, (tuple, list)) and len(inputs) >= 1, "a list of streams is needed")
    branches = [single(stream) for stream in inputs]
    kinds = {(stream.rank, stream.element) for stream in branches}
    require(len(kinds) == 1, "branches differ in their types")
    return branches


def _common(branches: list[Stream]) -> list[Size | None]:
    """The sizes inside of a chunk; None for what is ragged."""
    columns = list(zip(*(stream.sizes[:-1] for stream in branches), strict=True))
    for column in columns:
        regular = {size for size in column if isinstance(size, int)}
        require(len(regular) <= 1, "branches differ in more than their outermost size")
    return [column[0] if isinstance(column[0], int) else None for column in columns]


@dataclass(frozen=True, kw_only=True)
class Partition(Operator):
    """Send each chunk of data to all the branches that its selector names."""

    N: int

    def run(self, inputs: Any) -> list[Stream]:
        """`(data, selector)` -> N streams; the outermost size of each is the number of its set bits."""
        first, second = pair(inputs)
        data, selector = single(first), check_selector(second, self.N)
        inner = data.rank - selector.rank
        require(inner >= 0, "the selector has a higher rank than the data")
        require(data.sizes[inner:] == selector.sizes, f"selector {selector.sizes} does not fit data {data.sizes}")
        chunks = data.lists()
        for _ in range(selector.rank):
            chunks = [chunk for outer in chunks for chunk in outer]
        found: list[list[Any]] = [[] for _ in range(self.N)]
        for chunk, (bits,) in zip(chunks, selector.items, strict=True):
            for branch in selected(bits):
                found[branch].append(chunk)
        return [Stream.of(lists, [*data.sizes[:inner], None], data.element) for lists in found]


def _taken(branches: list[Stream], selector: Stream) -> list[list[Any]]:
    """For each position of the selector the next chunk of each branch that it names, ascending."""
    waiting = [stream.lists() for stream in branches]
    taken = []
    for (bits,) in selector.items:
        chosen = selected(bits)
        require(all(waiting[k] for k in chosen), "a branch has fewer chunks than its selector has bits")
        taken.append([waiting[k].pop(0) for k in chosen])
    require(not any(waiting), "a branch has more chunks than its selector has bits")
    return taken


def _as_arrived(rows: list[list[Any]], selector: Stream, order: list[int]) -> list[list[Any]]:
    """The chunks of each position as their branches are named in ``order``, one position after the other."""
    found = []
    for (bits,), chunks in zip(selector.items, rows, strict=True):
        held = dict(zip(selected(bits), chunks, strict=True))
        found.append([held.pop(order.pop(0)) for _ in chunks])
        require(not held, "not every branch has arrived")
    return found


@dataclass(frozen=True, kw_only=True)
class Merge(Operator):
    """Undo a `Partition`: at each selector position fold the next chunk of every selected branch."""

    fn: Fn

    def run(self, inputs: Any) -> Stream:
        """`([s0, ...], selector)` -> `common + selector.shape` of `fn.output`."""
        first, second = pair(inputs)
        branches = _branches(first)
        selector = check_selector(second, len(branches))
        fn, common = self.fn.of(branches[0].element), _common(branches)
        rows = [self._folded(fn, chunks, common) for chunks in _taken(branches, selector)]
        return Stream.of(nested(rows, selector.sizes), [*common, *selector.sizes], fn.output)

    def _folded(self, fn: Fn, chunks: list[Any], common: list[Size | None]) -> Any:
        """Fold chunks position by position; none at all gives zeros, not `init`."""
        if not chunks:
            require(None not in common, "nothing says how long the lists of no chunk are")
            return self._filled(fn.zeros(), common)
        states = self._like(fn.start(), chunks[0], len(common))
        for chunk in chunks:
            states = self._stepped(fn, states, chunk, len(common))
        return states

    def _filled(self, item: Item, common: list[Size | None]) -> Any:
        *inner, size = common or [None]
        if size is None:
            return item
        return [self._filled(item, inner) for _ in range(int(str(size)))]

    def _like(self, item: Item, chunk: Any, depth: int) -> Any:
        return [self._like(item, part, depth - 1) for part in chunk] if depth else item

    def _stepped(self, fn: Fn, states: Any, chunk: Any, depth: int) -> Any:
        if not depth:
            return fn.fold(states, chunk)
        require(len(states) == len(chunk), "chunks of one position differ in their lengths")
        return [self._stepped(fn, one, other, depth - 1) for one, other in zip(states, chunk, strict=True)]


@dataclass(frozen=True, kw_only=True)
class Reassemble(Operator):
    """As `Merge`, but the chunks stand side by side."""

    order: str = "branch"
    onehot: bool = False

    def run(self, inputs: Any) -> Stream:
        """`([s0, ...], selector)` -> `common + [m] + selector.shape`."""
        first, second = pair(inputs)
        branches = _branches(first)
        selector = check_selector(second, len(branches))
        rows = _taken(branches, selector)
        if self.order == "arrival" and self.arrivals is not None:
            rows = _as_arrived(rows, selector, list(self.arrivals.pop(0)))
        require(not self.onehot or all(len(row) == 1 for row in rows), "onehot is broken")
        like = [*_common(branches), 1 if self.onehot else None, *selector.sizes]
        return Stream.of(nested(rows, selector.sizes), like, branches[0].element)


@dataclass(frozen=True, kw_only=True)
class EagerMerge(Operator):
    """The chunks of all streams as they come: here one stream after the other."""

    merges = True

    def run(self, inputs: Any) -> tuple[Stream, Stream]:
        """A list of streams -> `(data, selector)`."""
        branches = _branches(inputs)
        if self.loops is not None:
            return self._in_loops(branches)
        waiting = [stream.lists() for stream in branches]
        order = [number for number, chunks in enumerate(waiting) for _ in chunks]
        if self.arrivals is not None:
            order = list(self.arrivals.pop(0))
        data = Stream.of([waiting[k].pop(0) for k in order], [*_common(branches), None], branches[0].element)
        require(not any(waiting), "not every chunk has arrived")
        return data, _selector(order, len(branches))

    def _in_loops(self, branches: list[Stream]) -> tuple[Stream, Stream]:
        """What was taken so far of inputs that may grow."""
        assert self.loops is not None, "a program has loops"
        number = len(self.loops.inputs)
        self.loops.inputs.append(branches)
        if number == len(self.loops.orders):
            self.loops.orders.append([])
        order, waiting = self.loops.orders[number], [stream.lists() for stream in branches]
        if not self.loops.in_loop(number) and not any(stream.growing for stream in branches):
            order = [place for place, chunks in enumerate(waiting) for _ in chunks]
            if self.loops.decided is not None:
                order = list(self.loops.decided[number])
        data = Stream.of([waiting[k].pop(0) for k in order], [*_common(branches), None], branches[0].element)
        selector = _selector(order, len(branches))
        for stream in (data, selector):
            stream.growing, stream.made_of = any(waiting), frozenset({number})
        return data, selector


@dataclass(frozen=True, kw_only=True)
class Parallelize(Operator):
    """Outermost chunk `j` goes to lane `j mod N`."""

    N: int
    policy: str = "round_robin"

    def run(self, inputs: Any) -> tuple[list[Stream], Stream]:
        """A stream -> `(lanes, selector)`."""
        stream = single(inputs)
        lanes: list[list[Any]] = [[] for _ in range(self.N)]
        chosen = [number % self.N for number in range(positions(stream.sizes[-1:]))]
        if self.policy == "free" and self.arrivals is not None:
            chosen = list(self.arrivals.pop(0))
        for lane, chunk in zip(chosen, stream.lists(), strict=True):
            lanes[lane].append(chunk)
        like = [*stream.sizes[:-1], None]
        return [Stream.of(lane, like, stream.element) for lane in lanes], _selector(chosen, self.N)


def _selector(chosen: list[int], branches: int) -> Stream:
    items: list[Item] = [(torch.arange(branches) == number,) for number in chosen]
    return Stream((len(chosen),), Multihot(Scalar("bool"), branches), items)
