"""Stretches in which times grow linearly: one load runs ahead of the others by so many cycles in each period.

No state recurs there, yet what happens does. Let ``S(k)`` be the state after ``k`` periods, its times ``a + k*b`` for
constants ``a`` and ``b``, all else as it was. One period is run from the state that is there with these as numbers
(:mod:`stepcore.timing.linear`), by the same instructions of units and the same windows of memory as ever. If it comes
to its end and every time has become ``(a + b) + k*b``, then a period leads from ``S(k)`` to ``S(k + 1)`` for each ``k``
up to the horizon: until there every comparison (which time is later, who waits for a slot, in which order and for how
long ports dispatch) has the answer that it had. So by induction all these periods may be taken at once; sums of cycles
are arithmetic series.

Such numbers are clocks, the times of tokens and slots that somebody may still look at, and the times and rests of
requests. All that is counted relative to them has to be the same, but for rounds that loops have left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from stepcore.timing import units as inner
from stepcore.timing.linear import UNBOUNDED, Horizon, NotLinear, grown, linear, sum_of
from stepcore.timing.memory import Memory
from stepcore.timing.rows import Rows

MOST_SLOTS: Final = 4096  # of all FIFOs together


@dataclass(slots=True)
class Moment:
    """A state: what has to be the same, tokens put by channel, and all times, relative to nothing."""

    shape: tuple[object, ...]
    put: list[int]
    times: list[int]


def moment_of(rows: Rows, memory: Memory) -> Moment:
    """Return the state that is there."""
    return Moment(_shape(rows, memory), list(rows.put), _times(rows, memory))


def moves_on(first: Moment, second: Moment, third: Moment) -> bool:
    """Return whether times grew from the second state to the third as they did from the first to the second."""
    return (
        first.shape == second.shape == third.shape
        and all(b - a == c - b for a, b, c in zip(first.put, second.put, third.put, strict=True))
        and all(b - a == c - b for a, b, c in zip(first.times, second.times, third.times, strict=True))
    )


@dataclass(slots=True)
class DriftingPeriod:
    """One period as linear numbers: its end, and what it adds to the sums of the run.

    ``times`` is how many periods from the present state on are like it; ``steps`` what finding out took. ``beside`` is
    another state of the memory, which has to answer as ``memory`` does.
    """

    now: Moment
    growth: list[int]
    passed: list[int]  # tokens, by channel
    rows: Rows
    memory: Memory
    horizon: Horizon = field(default_factory=Horizon)
    steps: int = 0
    beside: Memory | None = None

    @classmethod
    def begin(cls, rows: Rows, memory: Memory, before: Moment, now: Moment) -> DriftingPeriod:
        """Return a period that begins with the state that is there, ``now``; ``before`` was one period ago."""
        growth = [new - old for old, new in zip(before.times, now.times, strict=True)]
        found = cls.plain(rows, memory, now, [new - old for old, new in zip(before.put, now.put, strict=True)])
        found.growth = growth
        put_times(found.rows, found.memory, linear(now.times, growth, found.horizon))
        return found

    @classmethod
    def plain(cls, rows: Rows, memory: Memory, now: Moment, passed: list[int]) -> DriftingPeriod:
        """Return a period of whole numbers, in which so many tokens are put."""
        twin, shadow = rows.frozen(), memory.frozen()
        units = len(rows.clock)
        twin.starved, twin.blocked, twin.worked, twin.waited = ([0] * units for _ in range(4))
        shadow.placed = 0
        return cls(now, [], passed, twin, shadow)

    @property
    def times(self) -> int:
        """How many periods are like this one; FIFOs that were never full have to stay so."""
        rows, put = self.rows, self.now.put
        room = [
            (depth - 1 - count) // more
            for depth, count, more in zip(rows.depth, put, self.passed, strict=True)
            if more and count < depth
        ]
        return min(self.horizon.last + 1, *room, UNBOUNDED)

    def holds(self, limit: int) -> bool:
        """Run the period, within ``limit`` steps; return whether it ends as it has to."""
        try:
            return self.runs(limit) and self._comes_round()
        except NotLinear:
            return False

    def runs(self, limit: int) -> bool:
        """Run the period, within ``limit`` steps; return whether what has to be the same at its end is."""
        self.steps = limit
        try:
            return self._runs()
        finally:
            self.steps = limit - max(self.steps, 0)

    def _runs(self) -> bool:
        """Run until as many tokens went through all channels as in a period; return whether that state is right."""
        rows, memory = self.rows, self.memory
        aim = [put + more for put, more in zip(self.now.put, self.passed, strict=True)]
        while True:
            result = rows.advance(self.steps, inner.NEVER) if self.steps > 0 else 0
            self.steps = result if result >= 0 else -1 - result
            if self.steps <= 0:
                return False
            if result >= 0:
                for request in rows.requests():
                    for each in self._memories():
                        each.ask(*request)
                if not memory.pending:
                    return False
            if rows.put == aim and _shape(rows, memory) == self.now.shape:
                return True
            if any(put > most for put, most in zip(rows.put, aim, strict=True)):
                return False
            if result >= 0 and not self._answer():
                return False

    def _memories(self) -> list[Memory]:
        return [self.memory] if self.beside is None else [self.memory, self.beside]

    def _answer(self) -> bool:
        """Let memory move on by a window; return whether what stands beside it answered alike."""
        answers = []
        for memory in self._memories():
            answers.append(memory.advance())
            self.steps -= memory.work
            memory.work = 0
        for tile in answers[0]:
            self.rows.wake(tile.unit, tile.answer)
        return answers[0] == answers[-1]

    def _comes_round(self) -> bool:
        ends = _times(self.rows, self.memory)
        return all(
            grown(end) == (value + more, more)
            for end, value, more in zip(ends, self.now.times, self.growth, strict=True)
        )

    def spent(self, times: int) -> tuple[list[list[int]], int]:
        """Return cycles starved, blocked, worked and waited by unit, and bursts, of so many periods."""
        rows = self.rows
        kinds = (rows.starved, rows.blocked, rows.worked, rows.waited)
        return [[sum_of(cycles, times) for cycles in kind] for kind in kinds], sum_of(self.memory.placed, times)

    def after(self, times: int) -> list[int]:
        """Return all times after so many periods."""
        return [value + more * times for value, more in zip(self.now.times, self.growth, strict=True)]


def put_times(rows: Rows, memory: Memory, times: Iterable[Any]) -> None:
    """Let all times of a state be these, whole or linear numbers, in the order of a :class:`Moment`."""
    values = iter(times)
    rows.clock[:] = [next(values) for _ in rows.clock]
    for slot in _tokens(rows):
        rows.visible[slot] = next(values)
    for slot in _slots(rows):
        rows.freed[slot] = next(values)
    size = len(memory.free)
    for k in range(size):
        memory.free[(memory.turn + k) % size] = next(values)
    for k in range(size):
        starts = memory.recent[(memory.turn + k) % size]
        starts[:] = [next(values) for _ in starts]
    for tile in memory.pending:
        tile.cycle, tile.bursts, tile.answer = next(values), next(values), next(values)


def _times(rows: Rows, memory: Memory) -> list[int]:
    size = len(memory.free)
    turned = [(memory.turn + k) % size for k in range(size)]
    return [
        *rows.clock,
        *(rows.visible[slot] for slot in _tokens(rows)),
        *(rows.freed[slot] for slot in _slots(rows)),
        *(memory.free[channel] for channel in turned),
        *chain.from_iterable(memory.recent[channel] for channel in turned),
        *chain.from_iterable((tile.cycle, tile.bursts, tile.answer) for tile in memory.pending),
    ]


def _shape(rows: Rows, memory: Memory) -> tuple[object, ...]:
    """Return what decides all that follows, besides times and rounds that loops have left."""
    size = len(memory.free)
    return (
        tuple(rows.place), tuple(rows.tops), tuple(rows.waits), tuple(rows.closed),
        tuple((taken - put, rows.was_full(f) or taken - rows.oldest[f], _first_slot(rows, f) - taken)
              for f, (put, taken) in enumerate(zip(rows.put, rows.taken, strict=True))),
        tuple(rows.queued()),
        tuple((tile.unit, tile.port, not tile.answer) for tile in memory.pending),
        tuple(len(memory.recent[(memory.turn + k) % size]) for k in range(size)),
    )  # fmt: skip


def _tokens(rows: Rows) -> Iterator[int]:
    """Yield the slots of tokens that are there."""
    for f, size in enumerate(rows.size):
        for k in range(rows.taken[f], rows.put[f]):
            yield rows.offset[f] + k % size


def _slots(rows: Rows) -> Iterator[int]:
    """Yield the slots of tokens that were taken, and whose times somebody may look at."""
    for f, size in enumerate(rows.size):
        for k in range(_first_slot(rows, f), rows.taken[f]):
            yield rows.offset[f] + k % size


def _first_slot(rows: Rows, f: int) -> int:
    """Return the first token whose slot a further one waits for, or that the greatest fill may have to count."""
    put, depth = rows.put[f], rows.depth[f]
    if rows.was_full(f):
        return put - depth
    return rows.oldest[f] if put < depth else min(rows.oldest[f], put - depth)
