"""Anchors: what the reference computes on its way, and how streams are compared with it.

The reference runs once per data set under torch's dispatch hook (:mod:`stepagents.search.recorder`).
A stream *matches* an anchor when both hold the same numbers in any order: layout
is what the search still has to find.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Vector = npt.NDArray[np.float64]

MAX_ANCHORS: Final = 400
_TOLERANCE: Final = 1e-7
_LARGEST: Final = 1e30  # larger numbers count as this one, so that no sum of powers overflows
_HUGE: Final = 1e240


def numbers(tensor: Tensor) -> Vector:
    """Return the values of a tensor in order."""
    array: Vector = tensor.detach().numpy().ravel()
    return array if array.dtype == np.float64 else array.astype(np.float64)


def moments(values: Vector) -> tuple[float, float, float, float]:
    """Return sums of powers: equal (up to rounding) for the same numbers in any order."""
    with np.errstate(all="ignore"):  # infinities are dealt with
        squares = values * values
        fourth = float(squares @ squares)
        if not fourth < _HUGE:
            values = np.nan_to_num(values, nan=7.0, posinf=1e3, neginf=-1e3).clip(-_LARGEST, _LARGEST)
            squares = values * values
            fourth = float(squares @ squares)
    return float(values.sum()), float(squares.sum()), float(squares @ values), fourth


def essence(tensor: Tensor) -> Vector:
    """Return the values in order, with every axis along which nothing changes reduced to one position."""
    array = tensor.detach().numpy()
    for axis, size in enumerate(array.shape):
        if size > 1:
            first = array[(slice(None),) * axis + (slice(0, 1),)]
            if (array == first).all():
                array = first
    flat: Vector = array.ravel()
    return flat if flat.dtype == np.float64 else flat.astype(np.float64)


class AnchorSet:
    """The anchors of several data sets: one signature per data set each."""

    def __init__(self, runs: Sequence[Sequence[Tensor]], known: Sequence[Sequence[Tensor]]) -> None:
        """``runs`` holds the intermediates per data set, ``known`` what is no progress (inputs and parameters)."""
        self._by_count: dict[int, list[tuple[int, list[tuple[float, ...]]]]] = {}
        self.tensors: list[list[Tensor]] = []
        self.shapes: set[tuple[int, ...]] = set()
        self._sizes: list[int] = []
        dull: list[list[tuple[float, ...]]] = [
            [moments(essence(t)) for t in column] for column in zip(*known, strict=True)
        ]
        for column in zip(*runs, strict=False):
            if len(self.tensors) < MAX_ANCHORS and self._wanted(column, dull):
                self._add(list(column))

    def _wanted(self, column: Sequence[Tensor], dull: list[list[tuple[float, ...]]]) -> bool:
        if any(t.shape != column[0].shape for t in column):
            return False
        if column[0].numel() > 1 and essence(column[0]).size == 1:
            return False
        signature = [moments(essence(t)) for t in column]
        return not any(same(signature, other) for other in dull)

    def _add(self, column: list[Tensor]) -> None:
        values = [essence(t) for t in column]
        count = values[0].size
        signature: list[tuple[float, ...]] = [moments(vector) for vector in values]
        group = self._by_count.setdefault(count, [])
        if any(same(signature, other) for _, other in group):
            return
        group.append((len(self.tensors), signature))
        self._sizes.append(count)
        self.tensors.append(column)
        self.shapes.add(tuple(column[0].shape))

    def sizes(self) -> Iterator[int]:
        """Yield how many different numbers each anchor holds, in the order of their indices."""
        return (self._sizes[index] for index in range(len(self.tensors)))

    def match(self, values: Sequence[Vector]) -> int | None:
        """Return the anchor that holds these numbers (the essence of a stream per data set) in some order."""
        group = self._by_count.get(values[0].size)
        if not group:
            return None
        signature: list[tuple[float, ...]] = [moments(vector) for vector in values]
        for index, other in group:
            if same(signature, other):
                return index
        return None


def same(left: Sequence[tuple[float, ...]], right: Sequence[tuple[float, ...]]) -> bool:
    """Return whether two signatures (moments per data set) are equal up to rounding."""
    for a, b in zip(left, right, strict=True):
        scale = a[1] + b[1]
        limits = (scale**0.5, scale, scale**1.5, scale**2)
        for x, y, limit in zip(a, b, limits, strict=True):
            if abs(x - y) > _TOLERANCE * (limit + 1e-12):
                return False
    return True


def agree(left: Tensor, right: Tensor) -> bool:
    """Return whether two fp64 tensors of one shape are equal up to rounding in fp32."""
    return left.shape == right.shape and torch.allclose(left, right.to(left.dtype), rtol=1.3e-6, atol=1e-7)
