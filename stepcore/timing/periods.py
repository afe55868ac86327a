"""Regular stretches of a run: a state that recurs, later by a constant, and what is taken at once then.

Two states are the same where everything that decides what follows is: places in the programs of units, times relative
to a clock, tokens in flight, the memory; units that did nothing in between stay where they are. Rounds that loops have
left may differ: what lies between runs again as long as no such loop ends.
Recurrence is looked for by Brent's method (R. P. Brent, 1980: one remembered state, replaced
after 1, 2, 4, ... comparisons): at each round of one loop, which where memory is used sees what happens while it does
nothing and who waits for it stays where it is; and there also whenever all units wait for memory. A level higher it is
looked for after each stretch that was skipped, and so on. Where no state recurs, but times grow alike from one
state to the next and from there to a third, the period is tried as one that drifts (:mod:`stepcore.timing.drift`).
Where memory is used, a state is compared with each of those at the last ends of rows, too: a period that begins late is
found when it has come round, and not only after as much again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from stepcore.timing import units as inner
from stepcore.timing.drift import MOST_SLOTS, DriftingPeriod, Moment, put_times
from stepcore.timing.falling import Falling, falling, may_fall
from stepcore.timing.memory import Memory
from stepcore.timing.recorder import BLOCKED, MEMORY, STARVED, WORKED, RunRecorder, StretchTotals
from stepcore.timing.rows import Rows
from stepcore.timing.search_budget import REQUEST, SearchBudget
from stepcore.timing.states import GLANCE, Look, RowEnd, RowEnds, RunState, StateSearch, drift_on, held_in

DEAF: Final = 40_000  # steps at the start of a run in which no rounds are looked at where memory is used
_COPIES: Final = 3  # of the cost of a look, which it costs to copy the run
_LEVELS: Final = 6  # periods inside each other that are looked for
_ENTRIES: Final = 256  # of a state, that are remembered for nothing; each further four cost a step of the run
_PUT: Final = 4  # of the sums of a state: tokens put
_MOMENTS: Final = 64  # states of a search that are remembered to find one that drifts
_WORTH: Final = 16  # periods that have to be left to look for one that drifts: it costs as much as a dozen
_DEARER: Final = 8  # steps that one with linear numbers counts as
_LONGEST: Final = 64  # steps for each token of a period that one with linear numbers may take
_EARLY: Final = 120  # tokens of a run, in which nothing drifts for long
_FEW: Final = 300  # tokens, which cost no more than to skip them
_PAUSE: Final = 24  # periods that pass after one that did not drift, or not for long, before the next is tried
_APART: Final = 1  # tokens of the run for each step that a period took that did not fall, before the next is tried


@dataclass(slots=True)
class Periods:
    """Skips whole periods of the run in ``rows``; ``skipped`` counts them, ``work`` what remembering states takes."""

    rows: Rows
    memory: Memory
    budget: SearchBudget  # of what is looked at where units wait for memory, and without one at rounds
    budget_within: SearchBudget  # of rounds while memory does nothing
    recorder: RunRecorder | None = None
    skipped: int = 0
    work: int = 0
    levels: list[StateSearch] = field(default_factory=lambda: [StateSearch() for _ in range(_LEVELS)])
    within: list[StateSearch] = field(default_factory=lambda: [StateSearch(within=True) for _ in range(_LEVELS)])
    row_ends: RowEnds = field(init=False)
    falling: Falling | None = None  # what was found of channels of memory in the period that is to be skipped
    paused: int = _EARLY  # until so many tokens were put no drift is looked for
    left: int = 0  # steps of the run, where a state is looked at
    moved: int = 0  # bursts of the inner loop, where it follows memory, up to which `within` saw what happened

    def __post_init__(self) -> None:
        self.row_ends = RowEnds(self.rows.row_unit)

    def beacon(self, left: int) -> None:
        """Look whether this state was there before; if so, take as many periods at once as all loops have left.

        ``left`` are the steps of the run that are left. Where memory is used, the rounds of a loop are looked at while
        all that it is asked for waits.
        """
        uses_memory = self.rows.uses_memory
        budget = self.budget_within if uses_memory else self.budget
        if self.rows.follows and self.moved != self.rows.total[1]:
            self._memory_moves()
        self.left = left
        self._recurs(self.within if uses_memory else self.levels)
        self.rows.listens = min(self.rows.listens, budget.wakes)

    def waits(self, left: int) -> None:
        """Do the same where all units wait for memory."""
        self._memory_moves()
        self.budget.start += (
            REQUEST  # as long as a window takes; one that is followed takes less, and is let look as much
        )
        self.left = left
        if self._recurs(self.levels) and self.rows.follows:
            self.rows.heed(self.memory)
        if self.rows.follows:
            self.rows.pauses = min(self.rows.pauses, self.budget.wakes)

    def _memory_moves(self) -> None:
        self.moved = self.rows.total[1]
        if self.within[0].saved is not None:  # the coarser ones have what this one skipped to
            for search in self.within:
                search.clear()

    def _recurs(self, levels: list[StateSearch]) -> int:
        """Look for this state on each level, from the finest one on, as long as it recurs; return how many periods.

        Ends of rows are found while the budget pauses, too.
        """
        if levels is self.levels and (times := self._row_recurs()):
            return times
        if not self._budget(levels is self.within).allows(self.left):
            return 0
        taken = 0
        for level, search in enumerate(levels):
            times = self._seen(search)
            if not times:
                break
            taken += times
            self.skipped += 1
            for finer in levels[: level + 1]:
                finer.clear()
        return taken

    def _row_recurs(self) -> int:
        """Look for this state among those at the last ends of rows; return how many periods were skipped."""
        ends = self.row_ends
        base = self._base(within=False)
        if not (ends.comes_round(self.rows) and ends.is_promising(self.rows, base, self.budget, self.left)):
            return 0
        times = self._seen_at_end(ends)
        self.skipped += bool(times)
        return times

    def _seen_at_end(self, ends: RowEnds) -> int:
        """Compare with the states at the last ends of rows, and skip; else remember this one, too.

        Rows in which something was skipped, or of which only channels of memory grow, are not tried as ones that
        drift: the other searches have to run less for it. Returns how many periods were skipped.
        """
        end = RowEnd(self._look(within=False), held_in(self.rows), self.skipped)
        now, times = end.look, 0
        for look in ends.alike(end):
            times = self._comes_again(look, now) if self._stands_alike(look, now) else 0
            if times:
                break
        else:
            before = ends.drifting(end)
            if before is not None and self._worth_drifting(before.state, now.state):
                times = self._drift(before.moment, now)
        if times:
            self._begin_anew()
        else:
            ends.seen.append(end)
        return times

    def _worth_drifting(self, before: RunState, now: RunState) -> bool:
        return self._left(before, now) >= _WORTH and not self._moved_alike(before, now)

    def _comes_again(self, before: Look, now: Look) -> int:
        """Skip where ``now``, whose clocks stand alike, is what ``before`` was and skipping is worth it.

        Returns how many periods were skipped.
        """
        states = self._state(before), self._state(now)
        times = self._repeats(*states)
        if times > 0 and (now.within or self._saves(*states, times)):
            self._skip(*states, times)
            return times
        return 0

    def _begin_anew(self) -> None:
        self.row_ends.seen.clear()
        for search in self.levels:
            search.clear()

    def _seen(self, search: StateSearch) -> int:
        """Compare with the state that ``search`` remembers, and skip; else remember this one when it is time.

        Returns how many periods were skipped.
        """
        budget = self._budget(search.within)
        budget.spent += budget.look // GLANCE
        held = now = None
        if search.saved is not None and search.saved.place == self.rows.place:
            held = held_in(self.rows)
            if search.held == held:
                now = self._look(within=search.within)
                times = self._comes_again(search.saved, now) if self._stands_alike(search.saved, now) else 0
                times = times or self._drifted(search, search.saved, now)
                if times:
                    return times
        search.since += 1
        if search.since >= search.power:
            search.saved = now or self._look(within=search.within)
            search.held = held or held_in(self.rows)
            search.power, search.since = search.power * 2, 0
            search.looks.clear()
        return 0

    def _saves(self, before: RunState, now: RunState, times: int) -> bool:
        """Return whether so many periods are worth it: in a long run short ones hide that of the loop around them."""
        passed = sum(now.counts[_PUT])
        return (passed - sum(before.counts[_PUT])) * times > min(passed // 8, _FEW)

    def _drifted(self, search: StateSearch, saved: Look, now: Look) -> int:
        """Look whether times grew alike from the state that is saved to one between and to this one; if so, skip."""
        if not (saved.may_drift and now.may_drift) or len(search.looks) > _MOMENTS:
            return 0
        distance = search.since + 1
        half = search.looks.get(distance // 2) if distance % 2 == 0 else None
        if half is not None and drift_on(saved, half, now) and self._left(saved.state, now.state) >= _WORTH:
            return self._drift(half.moment, now)
        search.looks[distance] = now
        return 0

    def _go_by_windows(self) -> None:
        """Follow memory no more: only windows tell for how many periods all that they are asked stays true."""
        if self.rows.follows:
            self.rows.leave(self.memory)

    def _affordable(self, passed: list[int], dearer: int) -> int:
        """Return the steps that running a period may take, each of which costs ``dearer`` times one of the run."""
        return min(_LONGEST * sum(passed), max(self.budget.rest(self.left), 0) // dearer)

    def _may_drift(self) -> bool:
        return sum(self.rows.put) >= self.paused and len(self.rows.visible) <= MOST_SLOTS

    def _drift(self, before: Moment, look: Look) -> int:
        """Take the periods at once that are like the one from ``before`` to this state, but for linear times."""
        rows, memory, moment, now = self.rows, self.memory, look.moment, look.state
        self._go_by_windows()
        period, times = DriftingPeriod.begin(rows, memory, before, moment), 0
        then = period.rows
        if period.holds(self._affordable(period.passed, _DEARER)):
            left = self._left_of(now.rounds, now.entered, then.rounds, then.entered)
            times = min(period.times, left + 1)
        self.work += _DEARER * period.steps
        self.budget.spent += _DEARER * period.steps
        if times < _DEARER // 2:
            self.paused = sum(now.counts[_PUT]) + _PAUSE * sum(period.passed)
        if times <= 0:
            return 0
        for index in self._open_loops():
            rows.rounds[index] = now.rounds[index] - (now.rounds[index] - then.rounds[index]) * times
        rows.entered[:] = then.entered
        self.budget.saved += period.steps * times
        spent, placed = period.spent(times)
        passed = [more * times for more in period.passed]
        rows.fill[:] = period.rows.fill
        after = period.after(times)
        if self.recorder is not None:
            self.recorder.stretch(
                StretchTotals(dict(zip((STARVED, BLOCKED, WORKED, MEMORY), spent, strict=True)), passed, placed)
            )
        self._add(spent, passed, placed, max(after) - max(moment.times))
        put_times(rows, memory, after)
        return times

    def _budget(self, within: bool) -> SearchBudget:
        return self.budget_within if within else self.budget

    def _base(self, *, within: bool) -> int:
        """Return the time that those of a state are relative to."""
        rows, base = self.rows, self.memory.next_cycle
        return rows.clock[rows.queued()[-1]] if within or base < 0 else base  # the unit whose loop came round

    def _stands_alike(self, before: Look, now: Look) -> bool:
        """Return whether each clock is where it was, or as much later as all others: without that nothing recurs."""
        later = now.base - before.base
        return all(new in (old, old + later) for old, new in zip(before.clock, now.clock, strict=True))

    def _look(self, *, within: bool) -> Look:
        """Return the run as it stands; what costs more than to remember it is what it is compared by."""
        budget = self._budget(within)
        budget.spent += budget.look // _COPIES
        mark = None if self.recorder is None else self.recorder.mark()
        may_drift = not within and self._may_drift()
        base = self._base(within=within)
        look = Look(self.rows, self.memory, base, left=self.left, mark=mark, within=within, may_drift=may_drift)
        if len(self.rows.visible) > MOST_SLOTS:
            self._state(look)
        return look

    def _state(self, look: Look) -> RunState:
        budget, state = self._budget(look.within), look.state
        budget.spent += budget.look
        entries = sum(map(len, chain(state.seen, state.free, self.memory.recent)))
        more = max(entries - _ENTRIES, 0) // 4
        self.work += more
        budget.spent += more
        return state

    def _open_loops(self) -> Iterator[int]:
        """Yield the places, in the rows of rounds, of the loops that units are in."""
        for unit, top in enumerate(self.rows.tops):
            yield from range(unit * inner.STACK, top + 1)

    def _repeats(self, before: RunState, now: RunState) -> int:
        """Return how often what lay between two states can follow again; 0 where they differ."""
        self.falling = None
        if before.fixed != now.fixed or not self._moved_alike(before, now):
            return 0
        if before.channels != now.channels and not self._falls(before, now):
            return 0
        return self._left(before, now)

    def _falls(self, before: RunState, now: RunState) -> bool:
        """Return whether what lay between two states follows again although channels of memory are free sooner."""
        if self.memory.held or not may_fall(before.channels, now.channels):
            return False
        if not self._may_drift() or self._left(before, now) < _WORTH:
            return False
        self._go_by_windows()
        passed = [new - old for old, new in zip(before.counts[_PUT], now.counts[_PUT], strict=True)]
        self.falling, steps = falling(
            self.rows, self.memory, (before.channels, now.channels), passed, self._affordable(passed, 1)
        )
        self.work += steps
        self.budget.spent += steps
        if self.falling is None:  # often the first answer tells
            self.paused = sum(now.counts[_PUT]) + _APART * steps
        return self.falling is not None

    def _left(self, before: RunState, now: RunState) -> int:
        """Return how often the rounds that loops took between two states are left in all of them."""
        return self._left_of(before.rounds, before.entered, now.rounds, now.entered)

    def _left_of(self, rounds: list[int], entered: list[int], rounds_now: list[int], entered_now: list[int]) -> int:
        left: list[int] = []
        for index in self._open_loops():
            old, new = rounds[index], rounds_now[index]
            if new > old or (new < old and entered[index] != entered_now[index]):
                return 0
            if new < old:
                left.append((new - 1) // (old - new))
        return min(left, default=0)

    def _still(self, before: RunState, now: RunState) -> list[bool]:
        """Return which units did nothing between two states: what follows again leaves them where they are."""
        rows = self.rows
        still = [old == new for old, new in zip(before.clock, now.clock, strict=True)]
        for f, (old, new) in enumerate(zip(before.taken, now.taken, strict=True)):
            if old != new:
                still[rows.producer[f]] = still[rows.consumer[f]] = False
        return still

    def _moved_alike(self, before: RunState, now: RunState) -> bool:
        """Return whether all units that did something stand to each other as they stood, by the same time later."""
        rows, later = self.rows, now.base - before.base
        still = self._still(before, now)
        return all(
            rests or new - old == later for rests, old, new in zip(still, before.clock, now.clock, strict=True)
        ) and all(
            (still[rows.consumer[f]] or before.seen[f] == now.seen[f])
            and (still[rows.producer[f]] or before.free[f] == now.free[f])
            for f in range(len(rows.size))
        )

    def _skip(self, before: RunState, now: RunState, times: int) -> None:
        """Take ``times`` periods at once: each is what lay between ``before`` and ``now``."""
        budget = self._budget(now.within)
        budget.spent += budget.look
        budget.saved += (before.left - now.left) * times
        rows, memory, later = self.rows, self.memory, (now.base - before.base) * times
        for index in self._open_loops():
            rows.rounds[index] = now.rounds[index] - (before.rounds[index] - now.rounds[index]) * times
        for u, rests in enumerate(self._still(before, now)):
            if not rests:
                rows.clock[u] += later
        *spent, passed, placed = [
            [(new - old) * times for old, new in zip(one, other, strict=True)]
            for one, other in zip(before.counts, now.counts, strict=True)
        ]
        if self.recorder is not None and before.mark is not None:
            totals = StretchTotals(dict(zip((STARVED, BLOCKED, WORKED, MEMORY), spent, strict=True)), passed, placed[0])
            self.recorder.repeat(before.mark, now.base - before.base, times, totals)
        self._add(spent, passed, placed[0], later)
        if not now.within:
            memory.later(later)
            if self.falling is not None:
                memory.set_free(now.base + later, self.falling.after(times))

    def _add(self, spent: list[list[int]], passed: list[int], placed: int, later: int) -> None:
        """Add what a stretch comes to: cycles by kind and unit, tokens by channel, bursts; it took ``later`` cycles."""
        rows = self.rows
        for row, growth in zip((rows.starved, rows.blocked, rows.worked, rows.waited), spent, strict=True):
            row[:] = [value + more for value, more in zip(row, growth, strict=True)]
        for f, more in enumerate(passed):
            if more:
                self._turn(f, more, later)
        self.memory.placed += placed

    def _turn(self, f: int, more: int, later: int) -> None:
        """Let ``more`` tokens pass channel ``f``: its ring turns, and all its times are ``later``."""
        rows = self.rows
        start, size = rows.offset[f], rows.size[f]
        for ring in (rows.visible, rows.freed):
            old = ring[start : start + size]
            for slot in range(size):
                ring[start + (slot + more) % size] = old[slot] + later
        rows.put[f : f + 1] = [rows.put[f] + more]  # as slices, of which a recorder is not told: it repeats what it has
        rows.taken[f : f + 1] = [rows.taken[f] + more]
        rows.oldest[f] += more
