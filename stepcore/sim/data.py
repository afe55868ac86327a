"""The values of a stream as tensors.

A component of a stream with ``n`` dimensions is a tensor of ``n`` stream axes, outermost first, and the axes of the
element after them. A stream axis along which the value does not change may have length 1 whatever its size
("compressed"): a repetition then costs nothing. Stream dimension ``i`` (0 innermost) is axis ``n - 1 - i``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.ops.memory import AffineRead
from stepcore.sim.selection import Routes
from stepcore.types import Element


class TensorData:
    """Materialized values: one tensor per tuple component. Immutable; views share memory."""

    __slots__ = ("components", "element", "routes", "sizes")

    def __init__(self, sizes: tuple[int, ...], element: Element, components: Sequence[Tensor]) -> None:
        self.sizes = sizes
        self.element = element
        self.components = components
        self.routes: Routes | None = None  # what this selector selects, computed at its first use

    def force(self) -> TensorData:
        """Return the materialized values: these."""
        return self

    def dense(self) -> list[Tensor]:
        """Return each component in full shape: reversed sizes, then the element's axes. No memory is copied."""
        full = self.sizes[::-1]
        return [t if t.shape[: len(full)] == full else t.expand(*full, *t.shape[len(full) :]) for t in self.components]

    def insert_dim(self, position: int, size: int) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; the new axis is compressed."""
        axis = len(self.sizes) - position
        sizes = (*self.sizes[:position], size, *self.sizes[position:])
        return TensorData(sizes, self.element, [t.unsqueeze(axis) for t in self.components])

    def merge_dims(self, first: int, last: int) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; axes expand where some are compressed and others are not."""
        if first == last:
            return self
        sizes, count = self.sizes, len(self.sizes)
        merged = (*sizes[:first], prod(sizes[first : last + 1]), *sizes[last + 1 :])
        start, stop = count - 1 - last, count - 1 - first
        wanted = sizes[first : last + 1][::-1]
        return TensorData(merged, self.element, [_flatten(t, start, stop, wanted) for t in self.components])

    def split_dim(self, position: int, sizes: Sequence[int]) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; a compressed axis stays compressed. May raise ``SimError``."""
        size = self.sizes[position]
        if prod(sizes) != size:
            raise SimError("STEP211", f"{' x '.join(map(str, sizes))} is not the size {size}")
        split = (*self.sizes[:position], *sizes, *self.sizes[position + 1 :])
        axis = len(self.sizes) - 1 - position
        return TensorData(split, self.element, [_unflatten(t, axis, size, sizes) for t in self.components])

    def into_element(self, count: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; a compressed axis becomes one of full length and stride 0."""
        rank = len(self.sizes)
        full = self.sizes[:count][::-1]
        outer = rank - count
        parts = [
            t if t.shape[outer:rank] == full else t.expand(*t.shape[:outer], *full, *t.shape[rank:])
            for t in self.components
        ]
        return TensorData(self.sizes[count:], element, parts)

    def out_of_element(self, count: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; axes of stride 0 are compressed again."""
        rank = len(self.sizes)
        sizes = self.components[0].shape[rank : rank + count]
        parts = [_compress(t, rank, rank + count) for t in self.components]
        return TensorData((*reversed(sizes), *self.sizes), element, parts)

    def read_dims(self, count: int, places: AffineRead) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; an axis that does not move is compressed. Places are not checked."""
        flat = self.merge_dims(0, count - 1)
        sizes = (*places.shape, *self.sizes[count:])
        return TensorData(sizes, self.element, [_read(t, len(flat.sizes) - 1, places) for t in flat.components])

    def join_tiles(self, axis: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; a repeated tile is written out."""
        place = len(self.sizes) - 1
        parts = [t.transpose(place, place + axis).flatten(place + axis, place + axis + 1) for t in self._innermost()]
        return TensorData(self.sizes[1:], element, parts)

    def split_tiles(self, axis: int, element: Element) -> TensorData:
        """See :class:`stepcore.ops.runtime.Data`; a repeated tile is written out."""
        place = len(self.sizes) - 1
        rows = place + 1  # of a tile, where its columns are if these are taken apart
        parts = [t.transpose(rows, rows + axis).flatten(place, rows).unsqueeze(rows + axis) for t in self._innermost()]
        return TensorData((parts[0].shape[place], *self.sizes[1:]), element, parts)

    def _innermost(self) -> list[Tensor]:
        """Return each component with its innermost stream axis in full length."""
        place, size = len(self.sizes) - 1, self.sizes[0]
        return [t.expand(*t.shape[:place], size, *t.shape[place + 1 :]) for t in self.components]


def _read(tensor: Tensor, axis: int, places: AffineRead) -> Tensor:
    """Return an affine read along one axis; one of length 1 repeats what it holds."""
    before, after = tensor.shape[:axis], tensor.shape[axis + 1 :]
    if tensor.shape[axis] == 1:
        return tensor.view(*before, *(1,) * len(places.shape), *after)
    step = tensor.stride(axis)
    counters = zip(reversed(places.shape), reversed(places.stride), strict=True)
    pairs = [(size if move else 1, move) for size, move in counters]
    first = places.base + sum((size - 1) * move for size, move in pairs if move < 0)  # a view cannot go backwards
    sizes, strides = [size for size, _ in pairs], [abs(move) * step for _, move in pairs]
    outer, inner = tensor.stride()[:axis], tensor.stride()[axis + 1 :]
    offset = tensor.storage_offset() + first * step
    found = tensor.as_strided((*before, *sizes, *after), (*outer, *strides, *inner), offset)
    backwards = [axis + place for place, (_, move) in enumerate(pairs) if move < 0]
    return found.flip(backwards) if backwards else found


def _flatten(tensor: Tensor, start: int, stop: int, wanted: tuple[int, ...]) -> Tensor:
    found = tensor.shape[start : stop + 1]
    if found == wanted or prod(found) == 1:
        return tensor.flatten(start, stop)
    full = tensor.expand(*tensor.shape[:start], *wanted, *tensor.shape[stop + 1 :])
    return full.flatten(start, stop)


def _unflatten(tensor: Tensor, axis: int, size: int, sizes: Sequence[int]) -> Tensor:
    found = tuple(reversed(sizes)) if tensor.shape[axis] == size else (1,) * len(sizes)
    return tensor.view(*tensor.shape[:axis], *found, *tensor.shape[axis + 1 :])


def _compress(tensor: Tensor, start: int, stop: int) -> Tensor:
    strides = tensor.stride()
    for axis in range(start, stop):
        if strides[axis] == 0 and tensor.shape[axis] > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor
