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
from .elements import Buffer, Scalar, STuple, components, dtype_of
from .lists import Size, Sizes, items_of_chunks, positions
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
        """`shape` -> `shape[:b] + [1] + shape[b:]`; in generation 2 there is nothing outside of nothing."""
        stream = single(inputs)
        require(0 <= self.b <= stream.rank + 1, f"b={self.b} is outside 0..{stream.rank + 1}")
        size = 0 if stream.later and self.b > stream.rank and stream.size(stream.rank) == 0 else 1
        sizes = (*stream.sizes[: self.b], size, *stream.sizes[self.b :])
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
        merged = _merged(stream.sizes, first - 1, last)
        sizes = (*stream.sizes[: first - 1], merged, *stream.sizes[last + 1 :])
        return Stream(sizes, stream.element, list(stream.items))


def _merged(sizes: Sizes, first: int, last: int) -> Size:
    """The size of dimensions that become one: the product, or how many items each of the joined lists has."""
    if all(isinstance(size, int) for size in sizes[first : last + 1]):
        return positions(sizes[first : last + 1])
    counts = items_of_chunks(sizes[first:], last - first + 1)
    return tuple(counts) if sizes[last + 1 :] else counts[0]


@dataclass(frozen=True, kw_only=True)
class Reshape(Operator):
    """Split each dimension of `L` into an inner one of size `S` and the outer rest; no item moves.

    With `pad` each innermost list is filled by itself, and a second stream tells what is filling.
    """

    S: int
    L: Sequence[int]
    pad: Any = None

    def run(self, inputs: Any) -> Any:
        """Dimension `i` of `L` becomes `S, shape[i]//S`."""
        stream = single(inputs)
        if self.pad is not None:
            return self._padded(stream)
        require(self.S >= 1, "S is a positive size")
        require(len(set(self.L)) == len(self.L) > 0, f"L={self.L} is empty or names a dimension twice")
        require(all(0 <= index <= stream.rank for index in self.L), f"L={self.L} exceeds the rank {stream.rank}")
        sizes: list[Size] = []
        for index, size in enumerate(stream.sizes):
            if index in self.L:
                whole = stream.size(index)
                require(whole % self.S == 0, f"{self.S} does not divide {whole}")
                sizes += [self.S, whole // self.S]
            else:
                sizes.append(size)
        return Stream(tuple(sizes), stream.element, list(stream.items))

    def _padded(self, stream: Stream) -> tuple[Stream, Stream]:
        require(list(self.L) == [0], "padding fills the innermost dimension")
        items: list[Item] = []
        filling: list[Item] = []
        counts: list[int] = []
        for chunk in stream.chunks(1):
            more = -len(chunk) % self.S
            last = [
                tuple(
                    torch.full(part.shape, float(self.pad)).to(dtype_of(part, torch.get_default_dtype()))
                    for part in components(stream.element)
                )
            ]
            items += [*chunk, *last * more]
            filling += [(torch.tensor(place >= len(chunk)),) for place in range(len(chunk) + more)]
            counts.append((len(chunk) + more) // self.S)
        first = stream.sizes[0]
        size: Size = -(-first // self.S) if isinstance(first, int) else tuple(counts)
        sizes = (self.S, size, *stream.sizes[1:])
        return Stream(sizes, stream.element, items), Stream(sizes, Scalar("bool"), filling)


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
        items = [item for item, chunk in zip(data.items, ref.chunks(1), strict=True) for _ in chunk]
        return Stream(ref.sizes, data.element, items)


@dataclass(frozen=True, kw_only=True)
class Expand(Operator):
    """Each element of the first stream for all elements of the second's `b` innermost dimensions."""

    b: int

    def run(self, inputs: Any) -> Stream:
        """`(data, ref)` -> the sizes of `ref`, the elements of `data`, whose innermost `b` sizes are 1."""
        first, second = pair(inputs)
        data, ref = single(first), single(second)
        require(1 <= self.b <= data.rank + 1 and data.rank == ref.rank, f"b={self.b} does not fit {data.sizes}")
        require(data.sizes == (1,) * self.b + ref.sizes[self.b :], f"{ref.sizes} does not extend {data.sizes}")
        chunks = zip(data.items, ref.chunks(self.b), strict=True)
        return Stream(ref.sizes, data.element, [item for item, chunk in chunks for _ in chunk])


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
        inner, before = (element.inner, element.sizes) if isinstance(element, Buffer) else (element, ())
        last = stream.sizes[self.a - 1]
        buffer = Buffer(inner, (*before, *stream.regular(self.a - 1), last if isinstance(last, int) else -1))
        items: list[Item] = []
        for chunk in stream.chunks(self.a):
            column = [item[0] for item in chunk]
            # Stream order is the order of a tensor's memory, so stacking and reshaping moves nothing.
            shape = buffer.shape if isinstance(last, int) or column else (0, *buffer.shape[1:])
            items.append((torch.stack(column).reshape(shape) if column else torch.zeros(shape),))
        return Stream(stream.sizes[self.a :], buffer, items)


@dataclass(frozen=True, kw_only=True)
class Streamify(Operator):
    """Read every buffer out, innermost size fastest, or by an affine read; with a reference once for each element."""

    shape: Sequence[int] | None = None
    stride: Sequence[int] | None = None

    def run(self, inputs: Any) -> Stream:
        """`shape` of Buffer(U, sizes) -> `sizes + shape` of U, or with a reference `sizes + ref.shape`."""
        data, ref = pair(inputs) if isinstance(inputs, (tuple, list)) else (inputs, None)
        stream = single(data)
        buffer = stream.element
        if not isinstance(buffer, Buffer):
            raise OracleError(f"Streamify takes a stream of buffers, not of {buffer}")
        if buffer.sizes[-1] == -1:
            return self._lists(stream, buffer, ref)
        places = affine_places(buffer.sizes if self.shape is None else self.shape, self.stride, 0)
        require(all(0 <= place < math.prod(buffer.sizes) for place in places), "a read leaves the buffer")
        times, outer = [1] * len(stream.items), stream.sizes
        if ref is not None:
            outer = single(ref).sizes
            more = len(outer) - len(stream.sizes)
            require(more >= 1 and outer[more:] == stream.sizes, f"the reference {outer} does not extend {stream.sizes}")
            times = [len(chunk) for chunk in single(ref).chunks(more)]
        items: list[Item] = []
        for (tensor,), count in zip(stream.items, times, strict=True):
            parts = tensor.reshape(math.prod(buffer.sizes), *buffer.inner.shape)
            items += [(parts[place],) for _ in range(count) for place in places]
        sizes = buffer.sizes if self.shape is None else tuple(self.shape)
        return Stream(sizes + outer, buffer.inner, items)

    def _lists(self, stream: Stream, buffer: Buffer, ref: Any) -> Stream:
        """As `run`, of buffers that differ in their outermost size, which -1 stands for."""
        require(self.shape is None, "an affine read of buffers that differ in size")
        times, outer = [1] * len(stream.items), stream.sizes
        if ref is not None:
            outer = single(ref).sizes
            times = [len(chunk) for chunk in single(ref).chunks(len(outer) - len(stream.sizes))]
        items: list[Item] = []
        lengths: list[int] = []
        for (tensor,), count in zip(stream.items, times, strict=True):
            parts = tensor.reshape(-1, *buffer.inner.shape).unbind() if tensor.numel() else ()
            items += [(part,) for _ in range(count) for part in parts]
            lengths += [tensor.shape[0]] * count
        return Stream((*buffer.sizes[:-1], tuple(lengths), *outer), buffer.inner, items)


def affine_places(shape: Sequence[int], stride: Sequence[int] | None, base: int) -> list[int]:
    """The places of an affine read in the order of the stream, counter 0 fastest; without strides in a row."""
    places = []
    for number in range(math.prod(shape)):
        place, rest = base, number
        for index, size in enumerate(shape):
            step = math.prod(shape[:index]) if stride is None else stride[index]
            place, rest = place + rest % size * step, rest // size
        places.append(place)
    return places


@dataclass(frozen=True, kw_only=True)
class Copy(Operator):
    """Several streams for one."""

    n: int = 2

    def run(self, inputs: Any) -> tuple[Stream, ...]:
        """`shape` -> `n` times `shape`."""
        stream = single(inputs)
        require(self.n >= 2, "a copy gives two streams or more")
        return tuple(Stream(stream.sizes, stream.element, list(stream.items)) for _ in range(self.n))


@dataclass(frozen=True, kw_only=True)
class Identity(Operator):
    """The stream as it came."""

    def run(self, inputs: Any) -> Stream:
        """`shape` -> `shape`."""
        stream = single(inputs)
        return Stream(stream.sizes, stream.element, list(stream.items))
