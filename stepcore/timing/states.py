"""What a search for periods remembers: states of a run, one at powers of two or those at the last ends of rows.

Rows are the rounds of the loop that has the fewest, of those in no other: what lies between two of their ends is often
a period of all units, and there are so few of them that each is compared with all of the last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from stepcore.timing import units as inner
from stepcore.timing.drift import Moment, moves_on
from stepcore.timing.recorder import Mark
from stepcore.timing.rows import Rows

_MOST: Final = 32  # ends of rows that are remembered: the longest period
_LOOKS: Final = 96  # ends of rows of a run that are looked at: each is remembered, which costs more than a comparison
_DRIFTING: Final = 2  # rows of a period that drifts, at most
NO_MOMENT: Final = Moment((), [], [])  # where nothing may drift


@dataclass(slots=True)
class RunState:
    """What a search for periods remembers."""

    base: int
    fixed: tuple[object, ...]  # what has to be the same
    clock: list[int]
    taken: list[int]  # by channel
    seen: list[list[int]]  # by channel, relative: when its tokens are visible to who takes them
    free: list[list[int]]  # by channel, relative: when its slots are free to who fills them
    rounds: list[int]
    entered: list[int]
    counts: list[list[int]]  # sums that grow: cycles spent by units, tokens put, bursts placed
    mark: Mark | None  # of the recorder
    left: int  # steps of the run
    within: bool
    channels: list[int]  # of memory, relative: when they are free


@dataclass(slots=True)
class StateSearch:
    """A search of one level: the state that is saved, and how many were looked at since; see Brent's method."""

    saved: RunState | None = None
    place: list[int] | None = None
    held: list[int] | None = None  # tokens in each channel
    within: bool = False  # a time in which memory does nothing
    power: int = 1
    since: int = 0
    moments: dict[int, Moment] = field(default_factory=dict)  # by their distance from what is saved, which is 0

    def clear(self) -> None:
        """Forget all."""
        self.saved, self.power, self.since = None, 1, 0
        self.moments.clear()


@dataclass(slots=True)
class RowEnd:
    """A state at the end of a row: places of units, tokens in each channel, and all times where it may drift."""

    place: list[int]
    held: list[int]
    state: RunState
    moment: Moment
    skipped: int  # periods of the run so far


@dataclass(slots=True)
class RowEnds:
    """The states at the last ends of rows; ``unit`` is that whose loop has them (-1: none has)."""

    unit: int
    seen: deque[RowEnd] = field(default_factory=partial(deque, maxlen=_MOST))
    rounds: int = 0  # that the loop had left when it was looked at
    looks: int = 0

    def comes_round(self, rows: Rows, affordable: int) -> bool:
        """Return whether a row ended since this was asked, and is to be looked at: ``affordable`` are so many looks."""
        if self.unit < 0:
            return False
        before, self.rounds = self.rounds, rows.rounds[self.unit * inner.STACK]
        if before == self.rounds or self.looks >= min(_LOOKS, affordable):
            return False
        self.looks += 1
        return True

    def alike(self, place: list[int], held: list[int]) -> Iterator[RunState]:
        """Yield the states, the last first, in which units are where they are and as many tokens in each channel."""
        for end in reversed(self.seen):
            if end.place == place and end.held == held:
                yield end.state

    def drifting(self, now: RowEnd) -> RowEnd | None:
        """Return the end of a row since which all times grew as they did for as many rows before it."""
        for back in range(1, min(_DRIFTING, len(self.seen) // 2) + 1):
            first, half = self.seen[-2 * back], self.seen[-back]
            if NO_MOMENT in (first.moment, half.moment, now.moment) or half.skipped != now.skipped:
                continue
            if moves_on(first.moment, half.moment, now.moment):
                return half
        return None


def channel_times(rows: Rows, base: int) -> tuple[list[list[int]], list[list[int]]]:
    """Return when tokens are visible and when slots are free: no sooner than who waits can use them, from ``base``."""
    every_seen, every_free = [], []
    visible, freed, clock = rows.visible, rows.freed, rows.clock
    for f, size in enumerate(rows.size):
        start, put, taken = rows.offset[f], rows.put[f], rows.taken[f]
        seen: list[int] = []
        if put > taken:
            reader = clock[rows.consumer[f]]
            seen = [max(visible[start + k % size], reader) - base for k in range(taken, put)]
        every_seen.append(seen)
        free: list[int] = []
        last = max(put - rows.depth[f], 0)
        if taken > last:
            writer = clock[rows.producer[f]] - rows.response[f]
            k = taken - 1  # slots that are free by now are alike
            while k >= last and freed[start + k % size] > writer:
                free.append(freed[start + k % size] - base)
                k -= 1
        every_free.append(free)
    return every_seen, every_free
