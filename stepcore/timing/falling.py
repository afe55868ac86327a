"""Stretches in which nothing changes but that channels of memory are free sooner and sooner.

Let ``F`` be the times at which channels take their next bursts, relative to the start of a period, all else being as it
was one period ago, and none of them later. Answers, and the ``F`` after a period, grow with ``F``. So a period is run
with two memories: with the ``F`` of one period ago, and with a lower one, in which each channel that fell is free from
the start; the first answer in which they differ ends it. If all answers are the same, those to what is under way so
far included, and the lower one leaves no channel sooner than it began, then all between them have the same answers and
stay between them: by induction every further period is like this one. What a channel comes to in a period is
``max(F + g, c)`` with constants of its own, of which ``c`` is what it comes to from the start.
"""

from __future__ import annotations

from dataclasses import dataclass

from stepcore.timing.drift import DriftingPeriod, moment_of
from stepcore.timing.memory import Memory
from stepcore.timing.rows import Rows


@dataclass(frozen=True, slots=True)
class Falling:
    """When channels are free, relative to the start of a period: one period ago and now; ``least`` they come to."""

    before: list[int]
    now: list[int]
    least: list[int]

    def after(self, periods: int) -> list[int]:
        """Return when channels are free after so many periods."""
        return [
            max(new + (new - old) * periods, least) if new > least else new
            for old, new, least in zip(self.before, self.now, self.least, strict=True)
        ]


def may_fall(before: list[int], now: list[int]) -> bool:
    """Return whether no channel is free later than before."""
    return all(new <= old for old, new in zip(before, now, strict=True))


def falling(
    rows: Rows, memory: Memory, free: tuple[list[int], list[int]], passed: list[int], limit: int
) -> tuple[Falling | None, int]:
    """Return how channels fall from the state that is there on, None where answers depend on it, and the steps it took.

    ``free`` is when channels were free one period ago, and now, as :meth:`Memory.free_from` has it; ``passed`` the
    tokens that were put into each FIFO in that period. ``limit`` are steps.
    """
    before, now = free
    base = memory.next_cycle
    low = [new if new == old else 1 for old, new in zip(before, now, strict=True)]
    period = DriftingPeriod.plain(rows, memory, moment_of(rows, memory), passed)
    period.beside = period.memory.frozen()
    period.memory.set_free(base, before)
    period.beside.set_free(base, low)
    found = None
    if period.runs(limit) and period.memory.pending == period.beside.pending:
        high, least = (each.free_from(each.next_cycle) for each in (period.memory, period.beside))
        if high == now and all(end >= start for start, end in zip(low, least, strict=True)):
            found = Falling(before, now, least)
    return found, period.steps
