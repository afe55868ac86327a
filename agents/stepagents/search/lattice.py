"""Combinations of arguments, best first, without ever making all of them."""

from __future__ import annotations

import heapq
from bisect import insort
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any, Final, Generic, TypeVar

T = TypeVar("T")
_MOST: Final = 400


class Choices(Generic[T]):
    """Candidates for one argument, kept cheapest first. Serials are unique and tell in which order they came."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, T]] = []

    def add(self, cost: float, serial: int, entry: T) -> None:
        """Add one candidate; ``serial`` decides between equal costs."""
        insort(self._entries, (cost, serial, entry))

    def column(self, before: int | None = None) -> Column[T]:
        """Return the candidates as they are now, only the cheapest of very many.

        With ``before``, only those of smaller serials: what was there at an earlier time.
        """
        return Column(self._entries[:_MOST], before)

    def __bool__(self) -> bool:
        return bool(self._entries)


class Column(Generic[T]):
    """One argument's candidates, cheapest first; what came too late is passed over when one gets there."""

    __slots__ = ("_at", "_before", "_entries", "_kept")

    def __init__(self, entries: Sequence[tuple[float, int, T]], before: int | None = None) -> None:
        self._entries = entries
        self._before = before
        self._kept: list[tuple[float, T]] = []
        self._at = 0

    def get(self, place: int) -> tuple[float, T] | None:
        """Return cost and candidate at ``place``; None past the end."""
        kept = self._kept
        while len(kept) <= place:
            if self._at == len(self._entries):
                return None
            cost, serial, entry = self._entries[self._at]
            self._at += 1
            if self._before is None or serial < self._before:
                kept.append((cost, entry))
        return kept[place]


def best_first(products: Sequence[Sequence[Column[T]]], further: float) -> Iterator[tuple[float, tuple[T, ...]]]:
    """Yield one entry per column of any of ``products`` in the order of the joint cost.

    The joint cost is the largest plus ``further`` times the others. Memory grows with what was yielded.
    """
    heap: list[tuple[float, int, tuple[int, ...], Any, Any, set[tuple[int, ...]]]] = []
    serial = count()

    def push(at: tuple[int, ...], columns: Sequence[Column[T]], seen: set[tuple[int, ...]]) -> None:
        entries = []
        for column, place in zip(columns, at, strict=True):
            entry = column.get(place)
            if entry is None:
                return
            entries.append(entry)
        costs = [entry[0] for entry in entries]
        largest = max(costs)
        found = tuple(entry[1] for entry in entries)
        heapq.heappush(heap, (largest + further * (sum(costs) - largest), next(serial), at, columns, found, seen))

    for columns in products:
        start = (0,) * len(columns)
        push(start, columns, {start})
    while heap:
        cost, _, at, columns, found, seen = heapq.heappop(heap)
        yield cost, found
        for i, j in enumerate(at):
            following = (*at[:i], j + 1, *at[i + 1 :])
            if following not in seen:
                seen.add(following)
                push(following, columns, seen)
