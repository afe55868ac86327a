"""Streams whose lists differ in length: packed values, and the lengths of the lists.

Inside of its innermost ragged dimension a stream is regular: :class:`RaggedData` holds these dimensions, and all
positions of the ragged one behind each other, as data of ordinary sizes (``packed``, which may be lazy). So what
operators do inside of that dimension is done by the code for regular streams, on all lists at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.ops.memory import AffineRead
from stepcore.sim.data import TensorData
from stepcore.sim.lazy import Regular
from stepcore.sim.lengths import (
    Lengths,
    Level,
    Levels,
    apart,
    as_lengths,
    behind,
    first_unlike,
    joined,
    positions,
    taken,
)
from stepcore.sim.nested import Nested
from stepcore.types import Element


class RaggedData:
    """Values of a stream with a ragged dimension. Immutable; views share memory.

    ``packed`` has the sizes inside of the innermost ragged dimension, and outermost all positions of that one;
    ``outer`` are the levels from the innermost ragged one on, innermost first. At least one dimension is outside.
    """

    __slots__ = ("element", "outer", "packed", "sizes")

    def __init__(self, packed: Regular, outer: Levels) -> None:
        self.packed = packed
        self.outer = outer
        self.element: Element = packed.element
        # To operators a ragged size is what they hand on; those that reckon with sizes refuse ragged ones.
        self.sizes: tuple[Any, ...] = (*packed.sizes[:-1], *outer)

    @property
    def components(self) -> Sequence[Tensor]:
        """The tensors of the packed values."""
        return self.packed.components

    def force(self) -> RaggedData:
        """Return the same with materialized values."""
        return self if isinstance(self.packed, TensorData) else RaggedData(self.packed.force(), self.outer)

    def like(self, packed: Regular) -> RaggedData:
        """Return other values in lists of these lengths; their regular dimensions may be others."""
        return RaggedData(packed, self.outer)

    def dense(self) -> list[Any]:
        """Return each component as nested lists (:class:`Nested`)."""
        return [Nested(tensor, self.outer) for tensor in self.packed.dense()]

    def flat(self) -> TensorData:
        """Return all elements in the order of the stream, in one dimension."""
        packed = self.packed.force()
        return packed.merge_dims(0, len(packed.sizes) - 1)

    def insert_dim(self, position: int, size: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Data`."""
        if position < len(self.packed.sizes):
            return self.like(self.packed.insert_dim(position, size))
        if size == 1:
            place = position - len(self.packed.sizes) + 1
            return RaggedData(self.packed, (*self.outer[:place], size, *self.outer[place:]))
        return repeated(self, position, size)

    def merge_dims(self, first: int, last: int) -> StreamData:
        """See :class:`stepcore.ops.runtime.Data`; lists become one behind the other."""
        inner = len(self.packed.sizes) - 1
        if first == last:
            return self
        if last < inner:
            return self.like(self.packed.merge_dims(first, last))
        merged = joined(self.sizes[first : last + 1], self.sizes[last + 1 :])
        kept = self.packed.merge_dims(min(first, inner), inner)
        between = self.sizes[inner:first] if first > inner else ()
        return arranged(kept, (*between, merged, *self.sizes[last + 1 :]))

    def split_dim(self, position: int, sizes: Sequence[int]) -> StreamData:
        """See :class:`stepcore.ops.runtime.Data`. May raise ``SimError``."""
        inner = len(self.packed.sizes) - 1
        if position < inner:
            return self.like(self.packed.split_dim(position, sizes))
        return _apart(self, position, sizes)

    def into_element(self, count: int, element: Element) -> StreamData:
        """See :class:`stepcore.ops.runtime.Data`; a ragged dimension becomes the outermost one of buffers."""
        if count < len(self.packed.sizes):
            return self.like(self.packed.into_element(count, element))
        return RaggedBuffers(self, count, element)

    def out_of_element(self, count: int, element: Element) -> StreamData:
        """See :class:`stepcore.ops.runtime.Data`."""
        return self.like(self.packed.out_of_element(count, element))

    def read_dims(self, count: int, places: AffineRead) -> RaggedData:
        """See :class:`stepcore.ops.runtime.Data`; the dimensions that are read are regular."""
        return self.like(self.packed.read_dims(count, places))

    def join_tiles(self, axis: int, element: Element) -> RaggedData:
        """See :class:`stepcore.ops.runtime.Data`; the innermost dimension is regular."""
        return self.like(self.packed.join_tiles(axis, element))

    def split_tiles(self, axis: int, element: Element) -> RaggedData:
        """See :class:`stepcore.ops.runtime.Data`."""
        before, inner = self.packed.sizes[0], len(self.packed.sizes) - 1
        split = self.packed.split_tiles(axis, element)
        if inner:
            return self.like(split)
        times, first = split.sizes[0] // before if before else 0, self.outer[0]
        assert isinstance(first, Lengths), "the innermost level is ragged"
        return RaggedData(split, (first.times(times), *self.outer[1:]))


class RaggedBuffers(RaggedData):
    """Buffers whose outermost size differs from position to position, as the stream that they were made of.

    ``count`` of its innermost dimensions are in the buffers. Streamify takes them out again, and whole buffers are
    copied, repeated and routed; what reads elements as tensors of one shape is refused (STEP412).
    """

    __slots__ = ("count", "whole")

    def __init__(self, whole: StreamData, count: int, element: Element) -> None:
        self.whole, self.count, self.element = whole, count, element
        self.sizes = whole.sizes[count:]

    if not TYPE_CHECKING:  # to whoever asks for them these are refused, not absent

        @property
        def packed(self) -> Regular:
            """Nothing: there are no tensors of one shape."""
            text = "the buffers of this stream differ in size, so only Streamify reads them"
            raise SimError("STEP412", f"{text}: functions, Zip, folds and stores take buffers of one size")

        outer = packed

    @property
    def components(self) -> Sequence[Tensor]:
        """The tensors of the values in all buffers."""
        return self.whole.components

    def around(self, whole: StreamData) -> RaggedBuffers:
        """Return the buffers of another stream."""
        return RaggedBuffers(whole, self.count, self.element)

    def force(self) -> RaggedBuffers:
        """Return the same with materialized values."""
        return self.around(self.whole.force())

    def dense(self) -> list[Any]:
        """Return each component as nested lists, down to those in the buffers."""
        return self.whole.dense()

    def insert_dim(self, position: int, size: int) -> RaggedBuffers:
        """See :class:`stepcore.ops.runtime.Data`."""
        return self.around(self.whole.insert_dim(position + self.count, size))

    def merge_dims(self, first: int, last: int) -> RaggedBuffers:
        """See :class:`stepcore.ops.runtime.Data`."""
        return self.around(self.whole.merge_dims(first + self.count, last + self.count))

    def split_dim(self, position: int, sizes: Sequence[int]) -> RaggedBuffers:
        """See :class:`stepcore.ops.runtime.Data`."""
        return self.around(self.whole.split_dim(position + self.count, sizes))

    def into_element(self, count: int, element: Element) -> RaggedBuffers:
        """See :class:`stepcore.ops.runtime.Data`; the buffers grow."""
        return RaggedBuffers(self.whole, self.count + count, element)

    def out_of_element(self, count: int, element: Element) -> StreamData:
        """See :class:`stepcore.ops.runtime.Data`; what was in buffers before these lists were is taken out, too."""
        return self.whole.out_of_element(count - self.count, element) if count > self.count else self.whole


StreamData: TypeAlias = "Regular | RaggedData"


def arranged(packed: Regular, levels: Levels) -> StreamData:
    """Return data whose outermost dimension is taken apart into ``levels``, as many positions as it has."""
    sizes, outer = apart(levels)
    if len(sizes) > 1:
        packed = packed.split_dim(len(packed.sizes) - 1, sizes)
    return RaggedData(packed, outer) if outer else packed


def split(data: StreamData, sizes: Sequence[Level]) -> StreamData:
    """Return data whose outermost dimension is taken apart into ``sizes``. May raise ``SimError`` STEP412."""
    if isinstance(data, RaggedBuffers):
        return data.around(split(data.whole, sizes))
    if isinstance(data, RaggedData):
        return _apart(data, len(data.sizes) - 1, sizes)
    return arranged(data, tuple(sizes))


def _apart(data: RaggedData, position: int, sizes: Sequence[Level]) -> StreamData:
    inner, size = len(data.packed.sizes) - 1, data.sizes[position]
    if isinstance(size, Lengths) or positions(sizes) != size:
        raise SimError("STEP412", f"lists of {size} elements are not {' x '.join(map(str, sizes))}")
    return arranged(data.packed, (*data.sizes[inner:position], *sizes, *data.sizes[position + 1 :]))


def rows(data: Regular, index: Tensor) -> TensorData:
    """Return the chunks ``index`` of the outermost dimension."""
    data = data.force()
    size = data.sizes[-1]
    parts = [t if t.shape[0] == 1 != size else t.index_select(0, index) for t in data.components]
    return TensorData((*data.sizes[:-1], index.shape[0]), data.element, parts)


def chunks(data: StreamData, index: Tensor) -> StreamData:
    """Return the chunks ``index`` of the outermost dimension of any stream, in that order."""
    if not isinstance(data, RaggedData):
        return rows(data, index)
    if isinstance(data, RaggedBuffers):
        return data.around(chunks(data.whole, index))
    levels, inner = taken(data.outer[:-1], index)
    return arranged(rows(data.packed, inner), (*levels, index.shape[0]))


def repeated(data: StreamData, position: int, size: Level) -> StreamData:
    """Insert a dimension before ``position``, along which all inside of it stands as often as ``size`` says."""
    if isinstance(data, RaggedBuffers):
        return data.around(repeated(data.whole, position + data.count, size))
    whole = data if isinstance(data, RaggedData) else data.force()
    outer = whole.sizes[position:]
    lengths = as_lengths(size, positions(outer))
    if isinstance(whole, TensorData):
        one_row = whole.merge_dims(position, len(whole.sizes) - 1) if outer else whole.insert_dim(position, 1)
        return arranged(rows(one_row, lengths.owners), (lengths, *outer))
    inner = len(whole.packed.sizes) - 1
    if position <= inner:
        flat = whole.packed.merge_dims(position, inner)
        return arranged(rows(flat, lengths.owners), (lengths, *outer))
    levels, index = taken(whole.outer[: position - inner], lengths.owners)
    return arranged(rows(whole.packed, index), (*levels, size, *outer))


def behind_each_other(parts: Sequence[StreamData]) -> StreamData:
    """Return streams one behind the other along their outermost dimension; in all others they are alike.

    Raises:
        SimError: STEP412 where they are not.
    """
    buffers = [part for part in parts if isinstance(part, RaggedBuffers)]
    if buffers:
        return buffers[0].around(behind_each_other([part.whole for part in buffers]))
    total = sum(positions(part.sizes[-1:]) for part in parts)
    ragged = [part for part in parts if isinstance(part, RaggedData)]
    if not ragged:
        plain = [part.force() for part in parts if not isinstance(part, RaggedData)]
        return _concatenated(plain, total)
    levels = behind([part.outer[:-1] for part in ragged])
    packed = [part.packed.force() for part in ragged]
    return arranged(_concatenated(packed, sum(part.sizes[-1] for part in packed)), (*levels, total))


def _concatenated(parts: Sequence[TensorData], total: int) -> TensorData:
    first = parts[0]
    if any(part.sizes[:-1] != first.sizes[:-1] for part in parts):
        found = " and ".join(str(list(part.sizes[:-1])) for part in parts)
        raise SimError("STEP412", f"streams are put together whose chunks have the sizes {found}")
    columns = zip(*[part.dense() for part in parts], strict=True)
    return TensorData((*first.sizes[:-1], total), first.element, [torch.cat(column) for column in columns])


def alike(inputs: Sequence[StreamData]) -> list[RaggedData]:
    """Return streams that are read in step; raise STEP412, with the first difference, unless lengths are equal."""
    first = inputs[0].sizes
    for data in inputs[1:]:
        if data.sizes != first:
            raise SimError("STEP412", _unlike(first, data.sizes))
    return [data for data in inputs if isinstance(data, RaggedData)]


def _unlike(first: Sequence[Level], second: Sequence[Level]) -> str:
    for place in reversed(range(len(first))):
        one, other = first[place], second[place]
        if one == other:
            continue
        if isinstance(one, int) and isinstance(other, int):  # also where no position is outside
            differ: tuple[list[int], int, int] | None = ([], one, other)
        else:
            differ = first_unlike(one, other, first[place + 1 :])
        if differ is None:
            continue
        where, found, there = differ
        text = f"streams that are read in step have lists of {found} and of {there} elements along dimension {place}"
        return text + (f", first at {where} of the dimensions outside" if where else "")
    return "streams that are read in step differ in their sizes"
