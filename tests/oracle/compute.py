"""The operators that call functions, and those that route by selectors.

Positions and sizes are innermost first.  Every broken rule raises `OracleError`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .base import Operator, check_input, check_selector, pair, selected, single, zipped
from .streams import Fn, Item, Stream, require


@dataclass(frozen=True, kw_only=True)
class Map(Operator):
    """Apply `fn` to each element."""

    fn: Fn

    def run(self, inputs: Any) -> Stream:
        """One stream, or two and more that are zipped first."""
        several = isinstance(inputs, (tuple, list))
        require(not several or len(inputs) >= 2, "Map zips two streams or more")
        stream = zipped(inputs) if several else single(inputs)
        check_input(self.fn, stream.element)
        return Stream(stream.sizes, self.fn.output, [self.fn.map(item) for item in stream.items])


@dataclass(frozen=True, kw_only=True)
class Accum(Operator):
    """Fold the innermost `b` dimensions; each outer position starts from `init`."""

    fn: Fn
    b: int

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape[b:]`."""
        stream = single(inputs)
        require(1 <= self.b <= stream.rank, f"b={self.b} is outside 1..{stream.rank}")
        check_input(self.fn, stream.element)
        items: list[Item] = []
        for chunk in stream.chunks(self.b):
            state = self.fn.start()
            for item in chunk:
                state = self.fn.fold(state, item)
            items.append(state)
        return Stream(stream.sizes[self.b :], self.fn.output, items)


@dataclass(frozen=True, kw_only=True)
class Scan(Operator):
    """Like `Accum`, but every intermediate state comes out."""

    fn: Fn
    b: int

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape`."""
        stream = single(inputs)
        require(1 <= self.b <= stream.rank, f"b={self.b} is outside 1..{stream.rank}")
        check_input(self.fn, stream.element)
        items: list[Item] = []
        for chunk in stream.chunks(self.b):
            state = self.fn.start()
            for item in chunk:
                state = self.fn.fold(state, item)
                items.append(state)
        return Stream(stream.sizes, self.fn.output, items)


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
        counts = [0] * self.N
        items: list[list[Item]] = [[] for _ in range(self.N)]
        for chunk, (bits,) in zip(data.chunks(inner), selector.items, strict=True):
            for branch in selected(bits):
                counts[branch] += 1
                items[branch] += chunk
        return [Stream((*data.sizes[:inner], counts[k]), data.element, items[k]) for k in range(self.N)]


@dataclass(frozen=True, kw_only=True)
class Merge(Operator):
    """Undo a `Partition`: at each selector position fold the next chunk of every selected branch."""

    fn: Fn

    def run(self, inputs: Any) -> Stream:
        """`([s0, ...], selector)` -> `common + selector.shape` of `fn.output`."""
        first, second = pair(inputs)
        require(isinstance(first, (tuple, list)) and len(first) >= 1, "Merge takes a list of streams")
        branches = [single(stream) for stream in first]
        selector = check_selector(second, len(branches))
        common = branches[0].sizes[:-1]
        for branch in branches:
            check_input(self.fn, branch.element)
            require(branch.sizes[:-1] == common, "branches differ in more than their outermost size")
        waiting = [branch.chunks(branch.rank) for branch in branches]
        items: list[Item] = []
        for (bits,) in selector.items:
            chosen = selected(bits)
            require(all(waiting[k] for k in chosen), "a branch has fewer chunks than its selector has bits")
            items += self._folded([waiting[k].pop(0) for k in chosen], math.prod(common))
        require(not any(waiting), "a branch has more chunks than its selector has bits")
        return Stream(common + selector.sizes, self.fn.output, items)

    def _folded(self, chunks: list[list[Item]], length: int) -> list[Item]:
        """Fold equally long chunks position by position; none at all gives zeros, not `init`."""
        start = self.fn.start() if chunks else self.fn.zeros()
        states = [start] * length
        for chunk in chunks:
            states = [self.fn.fold(state, item) for state, item in zip(states, chunk, strict=True)]
        return states
