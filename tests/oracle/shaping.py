"""The operators that only read the same data another way.

Positions and sizes are innermost first.  Every broken rule raises `OracleError`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .base import Operator, pair, single, zipped
from .elements import Buffer, STuple
from .streams import Item, OracleError, Stream, require


@dataclass(frozen=True, kw_only=True)
class Zip(Operator):
    """Two streams side by side."""

    def run(self, inputs: Any) -> Stream:
        """Two equal shapes -> the same shape, a flat tuple."""
        first, second = pair(inputs)
        return zipped([single(first), single(second)])


@dataclass(frozen=True, kw_only=True)
class Promote(Operator):
    """Insert a dimension of size 1 before dimension `b`; no item moves."""

    b: int

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape[:b] + [1] + shape[b:]`."""
        stream = single(inputs)
        require(0 <= self.b <= stream.rank + 1, f"b={self.b} is outside 0..{stream.rank + 1}")
        sizes = (*stream.sizes[: self.b], 1, *stream.sizes[self.b :])
        return Stream(sizes, stream.element, list(stream.items))


@dataclass(frozen=True, kw_only=True)
class Flatten(Operator):
    """Merge dimensions `L[0]-1 .. L[-1]` into one; no item moves, for neighbours in order are contiguous."""

    L: Sequence[int]

    def run(self, inputs: Any) -> Stream:
        """The merged dimension's size is the product of the merged sizes."""
        stream = single(inputs)
        first, last = self.L[0] if self.L else 0, self.L[-1] if self.L else 0
        require(first >= 1 and list(self.L) == list(range(first, last + 1)), f"L={self.L} is not a run of 1, 2, ...")
        require(last <= stream.rank, f"L={self.L} exceeds the rank {stream.rank}")
        merged = math.prod(stream.sizes[first - 1 : last + 1])
        sizes = (*stream.sizes[: first - 1], merged, *stream.sizes[last + 1 :])
        return Stream(sizes, stream.element, list(stream.items))


@dataclass(frozen=True, kw_only=True)
class Reshape(Operator):
    """Split each dimension of `L` into an inner one of size `S` and the outer rest; no item moves."""

    S: int
    L: Sequence[int]

    def run(self, inputs: Any) -> Stream:
        """Dimension `i` of `L` becomes `S, shape[i]//S`."""
        stream = single(inputs)
        require(self.S >= 1, "S is a positive size")
        require(len(set(self.L)) == len(self.L) > 0, f"L={self.L} is empty or names a dimension twice")
        require(all(0 <= index <= stream.rank for index in self.L), f"L={self.L} exceeds the rank {stream.rank}")
        sizes: list[int] = []
        for index, size in enumerate(stream.sizes):
            if index in self.L:
                require(size % self.S == 0, f"{self.S} does not divide {size}")
                sizes += [self.S, size // self.S]
            else:
                sizes.append(size)
        return Stream(tuple(sizes), stream.element, list(stream.items))


@dataclass(frozen=True, kw_only=True)
class Repeat(Operator):
    """Each element `n` times, along a new innermost dimension."""

    n: int

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `[n] + shape`."""
        stream = single(inputs)
        require(self.n >= 1, "n is a positive size")
        items = [item for item in stream.items for _ in range(self.n)]
        return Stream((self.n, *stream.sizes), stream.element, items)


@dataclass(frozen=True, kw_only=True)
class RepeatRef(Operator):
    """Each element of the first stream as often as the second's innermost dimension is long."""

    def run(self, inputs: Any) -> Stream:
        """`(data, ref)` -> the sizes of `ref`, the elements of `data`."""
        first, second = pair(inputs)
        data, ref = single(first), single(second)
        require(ref.sizes[1:] == data.sizes, f"the reference {ref.sizes} does not extend {data.sizes}")
        items = [item for item in data.items for _ in range(ref.sizes[0])]
        return Stream(ref.sizes, data.element, items)


@dataclass(frozen=True, kw_only=True)
class Bufferize(Operator):
    """Gather the innermost `a` dimensions into one buffer per outer position."""

    a: int

    def run(self, inputs: Any) -> Stream:
        """`shape` of T -> `shape[a:]` of Buffer(T, shape[:a]); a buffer grows instead of nesting."""
        stream = single(inputs)
        element = stream.element
        require(1 <= self.a <= stream.rank, f"a={self.a} is outside 1..{stream.rank}")
        if isinstance(element, STuple):
            raise OracleError("Bufferize takes no tuples")
        gathered = stream.sizes[: self.a]
        inner, before = (element.inner, element.sizes) if isinstance(element, Buffer) else (element, ())
        buffer = Buffer(inner, before + gathered)
        items: list[Item] = []
        for chunk in stream.chunks(self.a):
            column = [item[0] for item in chunk]
            # Stream order is the order of a tensor's memory, so stacking and reshaping moves nothing.
            items.append((torch.stack(column).reshape(buffer.shape) if column else torch.zeros(buffer.shape),))
        return Stream(stream.sizes[self.a :], buffer, items)


@dataclass(frozen=True, kw_only=True)
class Streamify(Operator):
    """Read every buffer out, innermost size fastest."""

    def run(self, inputs: Any) -> Stream:
        """`shape` of Buffer(U, sizes) -> `sizes + shape` of U."""
        stream = single(inputs)
        buffer = stream.element
        if not isinstance(buffer, Buffer):
            raise OracleError(f"Streamify takes a stream of buffers, not of {buffer}")
        count = math.prod(buffer.sizes)
        items: list[Item] = []
        for (tensor,) in stream.items:
            items += [(part,) for part in tensor.reshape(count, *buffer.inner.shape).unbind(0)]
        return Stream(buffer.sizes + stream.sizes, buffer.inner, items)


@dataclass(frozen=True, kw_only=True)
class Copy(Operator):
    """Two streams for one."""

    def run(self, inputs: Any) -> tuple[Stream, Stream]:
        """`shape` -> twice `shape`."""
        stream = single(inputs)
        return (
            Stream(stream.sizes, stream.element, list(stream.items)),
            Stream(stream.sizes, stream.element, list(stream.items)),
        )


@dataclass(frozen=True, kw_only=True)
class Identity(Operator):
    """The stream as it came."""

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape`."""
        stream = single(inputs)
        return Stream(stream.sizes, stream.element, list(stream.items))
