"""Combinations of arguments, best first, without ever making all of them."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_MOST: Final = 400


class Choices(Generic[T]):
    """Candidates for one argument, kept cheapest first."""

    __slots__ = ("_entries", "_keys")

    def __init__(self) -> None:
        self._keys: list[tuple[float, int]] = []
        self._entries: list[tuple[float, T]] = []

    def add(self, cost: float, serial: int, entry: T) -> None:
        """Add one candidate; ``serial`` decides between equal costs."""
        place = bisect_right(self._keys, (cost, serial))
        self._keys.insert(place, (cost, serial))
        self._entries.insert(place, (cost, entry))

    def sorted(self) -> list[tuple[float, T]]:
        """Return cost and candidate, cheapest first, as they are now; only the cheapest of very many."""
        return self._entries[:_MOST]


def best_first(columns: Sequence[Sequence[tuple[float, T]]], further: float) -> Iterator[tuple[float, tuple[T, ...]]]:
    """Yield one entry per column in the order of the joint cost: the largest plus ``further`` times the others.

    Each column must be sorted. Memory grows with what was yielded, not with the product.
    """
    if not all(columns):
        return

    def cost_of(at: tuple[int, ...]) -> float:
        costs = [columns[i][j][0] for i, j in enumerate(at)]
        largest = max(costs)
        return largest + further * (sum(costs) - largest)

    start = (0,) * len(columns)
    heap = [(cost_of(start), start)]
    seen = {start}
    while heap:
        cost, at = heapq.heappop(heap)
        yield cost, tuple(columns[i][j][1] for i, j in enumerate(at))
        for i, j in enumerate(at):
            if j + 1 < len(columns[i]):
                following = (*at[:i], j + 1, *at[i + 1 :])
                if following not in seen:
                    seen.add(following)
                    heapq.heappush(heap, (cost_of(following), following))
