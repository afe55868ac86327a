"""Regular stretches of a run: a state that recurs, later by a constant, and what is taken at once then.

Two states are the same where everything that decides what follows is: places in the programs of units, times relative
to a clock, tokens in flight, the memory. Rounds that loops have left may differ: what lies between runs again as long
as no such loop ends. Recurrence is looked for by Brent's method (R. P. Brent, 1980: one remembered state, replaced
after 1, 2, 4, ... comparisons): where memory is used whenever all units wait for it, else at each round of one loop;
and a level higher after each stretch that was skipped, and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from stepcore.timing import units as inner
from stepcore.timing.memory import Memory
from stepcore.timing.rows import Rows

_LEVELS = 6


@dataclass(slots=True)
class _State:
    """What :meth:`Periods._capture` remembers."""

    base: int
    relative: tuple[object, ...]
    rounds: list[int]
    entered: list[int]
    height: list[int]
    counts: list[list[int]]  # sums that grow: cycles spent, tokens put, rounds of memory


@dataclass(slots=True)
class _Search:
    saved: _State | None = None
    place: list[int] | None = None
    power: int = 1
    since: int = 0


@dataclass(slots=True)
class Periods:
    """Skips whole periods of the run in ``rows``; ``skipped`` counts them."""

    rows: Rows
    memory: Memory
    waited: list[int]
    skipped: int = 0
    levels: list[_Search] = field(default_factory=lambda: [_Search() for _ in range(_LEVELS)])

    def beacon(self) -> None:
        """Look whether this state was there before; if so, take as many periods at once as all loops have left."""
        for level, search in enumerate(self.levels):
            if not self._seen(search):
                return
            self.skipped += 1
            for finer in self.levels[: level + 1]:
                finer.saved, finer.power, finer.since = None, 1, 0

    def _seen(self, search: _Search) -> bool:
        """Compare with the state that ``search`` remembers, and skip; else remember this one when it is time."""
        if search.saved is not None and search.place == self.rows.place:
            now = self._capture()
            times = _repeats(search.saved, now)
            if times > 0:
                self._skip(search.saved, now, times)
                return True
        search.since += 1
        if search.since >= search.power:
            search.saved, search.place = self._capture(), list(self.rows.place)
            search.power, search.since = search.power * 2, 0
        return False

    def _capture(self) -> _State:
        rows, memory = self.rows, self.memory
        base = min((tile.cycle for tile in memory.pending), default=None)
        if base is None:  # the unit whose loop came round
            base = rows.clock[rows.queue[(rows.where[0] + rows.where[1] - 1) % len(rows.queue)]]
        relative = (
            tuple(rows.height), tuple(rows.waits), tuple(rows.waits_on), tuple(rows.code.cursor), tuple(rows.closed),
            [None if rows.waits[u] == inner.ENDED else clock - base for u, clock in enumerate(rows.clock)],
            self._channels(base),
            memory.state(base) if memory.pending else (), sorted(self._queued()),
        )  # fmt: skip
        counts = [
            rows.starved, rows.blocked, rows.worked, self.waited, rows.put, rows.taken, [memory.placed, memory.clock],
        ]  # fmt: skip
        return _State(
            base, relative, list(rows.rounds), list(rows.entered), list(rows.height), [list(c) for c in counts]
        )

    def _queued(self) -> list[int]:
        rows = self.rows
        return [rows.queue[(rows.where[0] + k) % len(rows.queue)] for k in range(rows.where[1])]

    def _channels(self, base: int) -> list[tuple[int, ...]]:
        """What is in flight in each channel, and when slots are free: no sooner than who waits can use them."""
        rows, found = self.rows, []
        for f, depth in enumerate(rows.depth):
            start, put, taken = rows.offset[f], rows.put[f], rows.taken[f]
            reader, writer = rows.clock[rows.consumer[f]], rows.clock[rows.producer[f]] - rows.response[f]
            seen = [max(rows.visible[start + k % depth], reader) - base for k in range(taken, put)]
            free: list[int] = []
            if rows.waits[rows.producer[f]] != inner.ENDED:
                free = [max(rows.freed[start + k % depth], writer) - base for k in range(max(put - depth, 0), taken)]
                free = [writer - base] * (depth - len(free) - len(seen)) + free
            found.append((put - taken, *seen, *free))
        return found

    def _skip(self, before: _State, now: _State, times: int) -> None:
        """Take ``times`` periods at once: each is what lay between ``before`` and ``now``."""
        rows, memory, later = self.rows, self.memory, (now.base - before.base) * times
        for index, (old, new) in enumerate(zip(before.rounds, now.rounds, strict=True)):
            if index % inner.STACK <= now.height[index // inner.STACK]:
                rows.rounds[index] = new - (old - new) * times
        for u, waits in enumerate(rows.waits):
            if waits != inner.ENDED:
                rows.clock[u] += later
        grown = [
            [(new - old) * times for old, new in zip(one, other, strict=True)]
            for one, other in zip(before.counts, now.counts, strict=True)
        ]
        for row, growth in zip((rows.starved, rows.blocked, rows.worked, self.waited), grown[:4], strict=True):
            row[:] = [value + more for value, more in zip(row, growth, strict=True)]
        for f, more in enumerate(grown[4]):
            self._turn(f, more, later)
        memory.placed += grown[6][0]
        memory.later(later)

    def _turn(self, f: int, more: int, later: int) -> None:
        """Let ``more`` tokens pass channel ``f``: its ring turns, and all its times are ``later``."""
        rows = self.rows
        start, depth = rows.offset[f], rows.depth[f]
        for ring in (rows.visible, rows.freed):
            old = ring[start : start + depth]
            for slot in range(depth):
                ring[start + (slot + more) % depth] = old[slot] + later
        rows.put[f] += more
        rows.taken[f] += more
        rows.oldest[f] += more


def _repeats(before: _State, now: _State) -> int:
    """Return how often what lay between two states can follow again; 0 where they differ."""
    if before.relative != now.relative:
        return 0
    left = None
    for unit, height in enumerate(now.height):
        for index in range(unit * inner.STACK, unit * inner.STACK + height + 1):
            old, new = before.rounds[index], now.rounds[index]
            if old == new:
                continue
            if new > old or before.entered[index] != now.entered[index]:
                return 0
            possible = (new - 1) // (old - new)
            left = possible if left is None else min(left, possible)
    return left or 0
