"""Streams that the search has made, how it made them, and what makes two of them the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stepagents.search.anchors import Vector, numbers
from stepcore.ops.base import Operator
from stepcore.sim.data import TensorData
from stepcore.sizes.dim import Dim
from stepcore.types import Element, Multihot, Shape, Single, StreamType, STuple


@dataclass(slots=True)
class SearchStep:
    """Operators in a row: the first on all ``args`` (zipped unless it joins them itself), each other on its result."""

    ops: tuple[Operator, ...]
    args: tuple[SearchStream, ...]
    move: str


@dataclass(slots=True, eq=False)
class SearchStream:
    """One stream: its type, its values on every data set, and the step that makes it (None for an input).

    ``slot`` is its place among the outputs of the step's last operator. ``cost`` orders the search; ``uses`` are the
    functions on the way to it, with repetitions. ``anchored`` says that some of its values occur in the reference.
    """

    index: int
    type: StreamType
    data: list[TensorData]
    step: SearchStep | None
    slot: int
    cost: float
    uses: tuple[str, ...] = ()
    anchored: bool = False
    move: str = "input"
    source: int = 0  # position among the program's inputs

    @property
    def element(self) -> Element:
        """The type of one element."""
        return self.type.element

    @property
    def shape(self) -> Shape:
        """The sizes, innermost first."""
        return self.type.shape


def parts(element: Element) -> tuple[Element, ...]:
    """Return the components as Zip joins them; a tuple of one stays what it is."""
    if isinstance(element, STuple) and len(element.items) > 1:
        return element.items
    return (element,)


def joined(elements: Iterable[Element]) -> Element:
    """Return the element type of streams zipped together."""
    items: list[Any] = [part for element in elements for part in parts(element)]
    return items[0] if len(items) == 1 else STuple(items)


def selects(element: Element) -> bool:
    """Return whether streams of this element are selectors."""
    return isinstance(element, Multihot)


def is_open(size: Dim) -> bool:
    """Return whether only the data decide this size (a branch of Partition)."""
    return size.is_open


class Fingerprints:
    """Keys of values: equal for streams that hold the same numbers at the same places, up to fp64 rounding."""

    def __init__(self, seed: int) -> None:
        self._draw = np.random.default_rng(seed)
        self._weights: Vector = self._draw.uniform(0.5, 1.5, 1 << 12) * self._draw.choice([-1.0, 1.0], 1 << 12)

    def of(self, data: Sequence[TensorData]) -> tuple[float, ...] | None:
        """Return the key of a stream on all data sets; None where it holds NaN."""
        key: list[float] = []
        for values in data:
            for tensor in values.dense():
                value = self._one(numbers(tensor))
                if value is None:
                    return None
                key.append(value)
        return tuple(key)

    def _one(self, values: Vector) -> float | None:
        if values.size > self._weights.size:
            more = self._draw.uniform(0.5, 1.5, 2 * values.size) * self._draw.choice([-1.0, 1.0], 2 * values.size)
            more[: self._weights.size] = self._weights
            self._weights = more
        weights = self._weights[: values.size]
        with np.errstate(all="ignore"):  # infinities are dealt with below
            total = float(values @ weights)
        if not np.isfinite(total):
            if np.isnan(values).any():
                return None
            total = float(np.nan_to_num(values, posinf=1e6, neginf=-1e6) @ weights)
        scale = float(np.abs(values).max()) if values.size and np.isfinite(values).all() else 1.0
        return round(total / scale, 9) + round(float(f"{scale:.8g}"), 9) if scale else 0.0


def embeddings(shape: Shape, target: Shape, most: int = 4) -> Iterator[tuple[int, ...]]:
    """Yield the positions in ``target`` that ``shape`` may take, as increasing subsequences, at most ``most``."""

    def place(i: int, start: int) -> Iterator[tuple[int, ...]]:
        if i == len(shape):
            yield ()
            return
        for position in range(start, len(target) - (len(shape) - i) + 1):
            if shape[i] == target[position]:
                for rest in place(i + 1, position + 1):
                    yield (position, *rest)

    for count, found in enumerate(place(0, 0)):
        if count == most:
            return
        yield found


def single(element: Element) -> Single:
    """Return the element, which is known to be no tuple."""
    assert not isinstance(element, STuple)
    return element
