"""Axes: from numbers to places on a drawing, and the numbers that are worth a tick."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Final, Protocol

from stepcore.records import Record

_LEAST: Final = -9  # smallest and largest power of ten that an axis shows
_MOST: Final = 15


class Scale(Protocol):
    """Maps numbers to places between ``start`` and ``stop``."""

    @property
    def ticks(self) -> list[float]:
        """The numbers that get a tick, in order."""

    def __call__(self, value: float) -> float:
        """Return the place of a number."""


class Linear(Record):
    """From ``low`` at ``start`` to ``high`` at ``stop``."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the place of a number; numbers outside are moved to the nearer end."""
        part = (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1.0)
        return self.start + part * (self.stop - self.start)

    @property
    def ticks(self) -> list[float]:
        """About five round numbers."""
        span = (self.high - self.low) or 1.0
        rough = span / 5
        size = 10.0 ** floor(log10(rough))
        step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
        if span >= 5:
            step = max(round(step), 1)
        first = ceil(self.low / step)
        return [number * step for number in range(first, floor(self.high / step + 1e-9) + 1)]


class Log(Record):
    """Powers of ten from ``low`` to ``high`` (both powers of ten); zero has a place of its own before them."""

    low: float
    high: float
    start: float
    stop: float
    has_zero: bool = False

    @staticmethod
    def around(values: Sequence[float], start: float, stop: float) -> Log:
        """Return the scale that holds ``values``; where all are zero it shows thousands to millions beside them."""
        positive = [value for value in values if value > 0] or [1e3, 1e6]
        low = max(floor(log10(min(positive)) + 1e-9), _LEAST)
        high = min(ceil(log10(max(positive)) - 1e-9), _MOST)
        return Log(10.0**low, 10.0 ** max(high, low + 1), start, stop, any(value <= 0 for value in values))

    def __call__(self, value: float) -> float:
        """Return the place of a number."""
        first = self.start + (0.12 * (self.stop - self.start) if self.has_zero else 0.0)
        if value <= 0:
            return self.start + (0.03 * (self.stop - self.start) if self.has_zero else 0.0)
        part = (log10(value) - log10(self.low)) / (log10(self.high) - log10(self.low))
        return first + min(max(part, 0.0), 1.0) * (self.stop - first)

    @property
    def ticks(self) -> list[float]:
        """The powers of ten, zero before them if it has a place."""
        low, high = round(log10(self.low)), round(log10(self.high))
        step = max(1, ceil((high - low) / 8))
        powers = [10.0**exponent for exponent in range(low, high + 1, step)]
        return [0.0, *powers] if self.has_zero else powers


def short(value: float) -> str:
    """Return a number as short as a tick wants it: 0.01, 5, 20k, 3M."""
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{suffix}"
    return f"{value:.3g}"
