"""The operators that call functions.

Positions and sizes are innermost first.  Every broken rule raises `OracleError`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from .base import Operator, single, zipped
from .elements import Buffer, Scalar
from .lists import times
from .streams import Fn, Item, OracleError, Stream, require


@dataclass(frozen=True, kw_only=True)
class Map(Operator):
    """Apply `fn` to each element."""

    fn: Fn

    def run(self, inputs: Any) -> Stream:
        """One stream, or two and more that are zipped first."""
        several = isinstance(inputs, (tuple, list))
        require(not several or len(inputs) >= 2, "Map zips two streams or more")
        stream = zipped(inputs) if several else single(inputs)
        fn = self.fn.of(stream.element)
        return Stream(stream.sizes, fn.output, [fn.map(item) for item in stream.items])


@dataclass(frozen=True, kw_only=True)
class Accum(Operator):
    """Fold the innermost `b` dimensions; each outer position starts from `init`."""

    fn: Fn
    b: int

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape[b:]`; several streams are zipped first."""
        stream = zipped(inputs) if isinstance(inputs, (tuple, list)) else single(inputs)
        require(1 <= self.b <= stream.rank, f"b={self.b} is outside 1..{stream.rank}")
        fn = self.fn.of(stream.element)
        items: list[Item] = []
        for chunk in stream.chunks(self.b):
            state = fn.start()
            for item in chunk:
                state = fn.fold(state, item)
            items.append(state)
        return Stream(stream.sizes[self.b :], fn.output, items)


@dataclass(frozen=True, kw_only=True)
class Scan(Operator):
    """Like `Accum`, but every intermediate state comes out."""

    fn: Fn
    b: int

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape`; several streams are zipped first."""
        stream = zipped(inputs) if isinstance(inputs, (tuple, list)) else single(inputs)
        require(1 <= self.b <= stream.rank, f"b={self.b} is outside 1..{stream.rank}")
        fn = self.fn.of(stream.element)
        items: list[Item] = []
        for chunk in stream.chunks(self.b):
            state = fn.start()
            for item in chunk:
                state = fn.fold(state, item)
                items.append(state)
        return Stream(stream.sizes, fn.output, items)


@dataclass(frozen=True, kw_only=True)
class FlatMap(Operator):
    """Apply `fn`, which gives a list for each element, and join the lists of one innermost dimension."""

    fn: Fn | str

    def run(self, inputs: Any) -> Stream:
        """`[x0, ...]` -> `[s0..s(b-1), len, ...]`; `count` gives the numbers from 0 to n-1."""
        stream = zipped(inputs) if isinstance(inputs, (tuple, list)) else single(inputs)
        if self.fn == "count":
            return self._counted(stream)
        assert isinstance(self.fn, Fn)
        fn = self.fn.of(stream.element)
        buffer = fn.output
        if not isinstance(buffer, Buffer):
            raise OracleError("FlatMap needs a function that gives buffers")
        *inner, last = buffer.sizes
        items: list[Item] = []
        for item in stream.items:
            (tensor,) = fn.map(item)
            items += [(part,) for part in tensor.reshape(-1, *buffer.inner.shape).unbind(0)]
        return Stream((*inner, times(stream.sizes[0], last), *stream.sizes[1:]), buffer.inner, items)

    @staticmethod
    def _counted(stream: Stream) -> Stream:
        sizes: list[int] = []
        items: list[Item] = []
        for chunk in stream.chunks(1):
            numbers = [int(tensor) for (tensor,) in chunk]
            require(all(number >= 0 for number in numbers), "numbers are counted up from 0")
            sizes.append(sum(numbers))
            items += [(torch.tensor(place),) for number in numbers for place in range(number)]
        outer = stream.sizes[1:]
        return Stream((tuple(sizes) if outer else sizes[0], *outer), Scalar("int64"), items)
