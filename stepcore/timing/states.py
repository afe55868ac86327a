"""What a search for periods remembers: states of a run, one at powers of two or those at the last ends of rows.

What is remembered is a copy of the run as it stands; only where clocks say that it may recur, or drift, is it made
what is compared.

Rows are the rounds of the loop that has the fewest, of those in no other: what lies between two of their ends is often
a period of all units, and there are so few of them that each is compared with all of the last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from stepcore.timing import units as inner
from stepcore.timing.drift import MOST_SLOTS, Moment, moment_of, moves_on
from stepcore.timing.memory import Memory
from stepcore.timing.recorder import Mark
from stepcore.timing.rows import Rows
from stepcore.timing.search_budget import SearchBudget

_MOST: Final = 32  # ends of rows that are remembered: the longest period
_LOOKS: Final = 96  # ends of rows of a run that are looked at: each is remembered, which costs more than a comparison
_MARKS: Final = 1024  # ends of rows that are not looked at, of which it is remembered how they stood
_SPARED: Final = 8  # times what ends of rows have cost has to be left of the budget for the other search
_OVERDRAWN: Final = 8  # looks by which the budget may be overdrawn for ends of rows that stand like one before
_PROMISING: Final = 8  # periods that have to be left to look at an end of a row that stands like one before
GLANCE: Final = 8  # of the cost of a look, which a comparison costs that finds tokens elsewhere
_DRIFTING: Final = 2  # rows of a period that drifts, at most


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


class Look:
    """A run as it stood: ``base`` is the time that all others are relative to, ``held`` the tokens in each channel.

    Of one whose channels have more than ``MOST_SLOTS`` nothing is copied: its ``state`` is asked for at once.
    ``left`` are the steps of the run that were left, ``within`` says that memory did nothing for a while, ``may_drift``
    that this may be part of a period that drifts.
    """

    def __init__(
        self, rows: Rows, memory: Memory, base: int, *, left: int, mark: Mark | None, within: bool, may_drift: bool
    ) -> None:
        self.base, self.left, self.mark, self.within, self.may_drift = base, left, mark, within, may_drift
        self.place, self.clock = list(rows.place), list(rows.clock)
        self._run = (rows.frozen(), memory.frozen()) if len(rows.visible) <= MOST_SLOTS else (rows, memory)

    @cached_property
    def state(self) -> RunState:
        """What has to be the same where this recurs."""
        return state_of(self, *self._run)

    @cached_property
    def moment(self) -> Moment:
        """What has to grow alike where this drifts."""
        return moment_of(*self._run)


def drift_on(first: Look, second: Look, third: Look) -> bool:
    """Return whether times grew from the second state to the third as they did from the first to the second."""
    if not (first.may_drift and second.may_drift and third.may_drift):
        return False
    clocks = zip(first.clock, second.clock, third.clock, strict=True)
    return all(b - a == c - b for a, b, c in clocks) and moves_on(first.moment, second.moment, third.moment)


@dataclass(slots=True)
class StateSearch:
    """A search of one level: the state that is saved, and how many were looked at since; see Brent's method."""

    saved: Look | None = None
    held: list[int] | None = None  # tokens in each channel
    within: bool = False  # a time in which memory does nothing
    power: int = 1
    since: int = 0
    looks: dict[int, Look] = field(default_factory=dict)  # by their distance from what is saved, which is 0

    def clear(self) -> None:
        """Forget all."""
        self.saved, self.power, self.since = None, 1, 0
        self.looks.clear()


@dataclass(slots=True)
class RowEnd:
    """The state at the end of a row, and the tokens in each channel."""

    look: Look
    held: list[int]
    skipped: int  # periods of the run so far


@dataclass(slots=True)
class RowEnds:
    """The states at the last ends of rows; ``unit`` is that whose loop has them (-1: none has).

    ``marks`` tell how units stood at ends that were not looked at, and what their channels held: where they stand so
    again, a period may have come round. To remember one costs an eighth of a look.
    """

    unit: int
    seen: deque[RowEnd] = field(default_factory=partial(deque, maxlen=_MOST))
    rounds: int = 0  # that the loop had left when it was looked at
    looks: int = 0
    marks: dict[tuple[int, ...], int] = field(default_factory=dict)  # and the rounds that were left then

    def comes_round(self, rows: Rows) -> bool:
        """Return whether a row ended since this was asked."""
        if self.unit < 0:
            return False
        before, self.rounds = self.rounds, rows.rounds[self.unit * inner.STACK]
        return before != self.rounds and self.looks < _LOOKS

    def is_promising(self, rows: Rows, base: int, budget: SearchBudget, left: int) -> bool:
        """Return whether to look at the end of a row: the first ones, then those that stand like one before.

        Clocks stand relative to ``base``; ``left`` are the steps of the run that are left.
        """
        rest = budget.rest(left)
        if self.looks >= rest // (_SPARED * budget.look):
            budget.spent += budget.look // GLANCE
            mark = (*rows.place, *(clock - base for clock in rows.clock), *held_in(rows))
            before = self.marks.get(mark, 0)
            if before or len(self.marks) < _MARKS:
                self.marks[mark] = self.rounds
            if self.rounds < _PROMISING * (before - self.rounds) or not before or rest < -_OVERDRAWN * budget.look:
                return False
        self.looks += 1
        return True

    def alike(self, now: RowEnd) -> Iterator[Look]:
        """Yield the states, the last first, in which units are where they are and as many tokens in each channel."""
        for end in reversed(self.seen):
            if end.look.place == now.look.place and end.held == now.held:
                yield end.look

    def drifting(self, now: RowEnd) -> Look | None:
        """Return the end of a row since which all times grew as they did for as many rows before it."""
        for back in range(1, min(_DRIFTING, len(self.seen) // 2) + 1):
            first, half = self.seen[-2 * back], self.seen[-back]
            if half.skipped == now.skipped and drift_on(first.look, half.look, now.look):
                return half.look
        return None


def held_in(rows: Rows) -> list[int]:
    """Return how many tokens are in each channel."""
    return [put - taken for put, taken in zip(rows.put, rows.taken, strict=True)]


def state_of(look: Look, rows: Rows, memory: Memory) -> RunState:
    """Return what of a run that stands as ``look`` has it has to be the same where it recurs."""
    seen, free = channel_times(rows, look.base)
    fixed = (
        tuple(rows.tops), tuple(rows.waits), tuple(rows.code.cursor), tuple(rows.closed),
        look.within or not memory.pending or memory.state(look.base), sorted(rows.queued()),
    )  # fmt: skip
    counts = [rows.starved, rows.blocked, rows.worked, rows.waited, rows.put, [memory.placed]]
    return RunState(
        look.base, fixed, look.clock, list(rows.taken), seen, free, list(rows.rounds), list(rows.entered),
        [list(count) for count in counts], look.mark, look.left, look.within,
        memory.free_from(look.base) if memory.pending and not look.within else [],
    )  # fmt: skip


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
