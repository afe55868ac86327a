"""A window of memory requests at once: what a channel does with arrivals that come round after a few cycles.

While the same ports dispatch, the channels that their bursts go to come round after ``period`` cycles, and in each
period a channel gets the same bursts at the same cycles. Burst ``j`` of a channel starts at
``max(free + interval*j, max over i <= j of arrival(i) + interval*(j-i))``, and because arrivals come round, the inner
maximum is attained in the first period (where more comes than goes) or in the last one. So a window costs as many steps
as there are channels, however long it is.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from math import gcd
from typing import Final, NamedTuple

MOST_SPOTS: Final = 1 << 16  # bursts of a period: beyond, bursts are placed one by one
_PLANS: Final = 128  # of windows of the same rates, that are remembered
_FROM: Final = 2  # periods from which on the last bursts move on by the same cycles with each further one


@dataclass(frozen=True, slots=True)
class Lane:
    """What one channel gets in a period: the cycles, and of which tile each burst is.

    ``before[e]`` is the greatest of ``cycles[i] - interval*i`` up to ``e``, ``after[e]`` that behind it. ``growth`` is
    what this is more in the next period.
    """

    cycles: tuple[int, ...]
    tiles: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    growth: int

    def reach(self, burst: int) -> int:
        """Return the greatest of ``cycle - interval*i`` over all bursts ``i`` up to ``burst``."""
        rounds, place = divmod(burst, len(self.cycles))
        if not rounds:
            return self.before[place]
        if self.growth <= 0:
            return self.before[-1]
        last = self.before[place] + rounds * self.growth
        if place + 1 == len(self.cycles):
            return last
        return max(last, self.after[place] + (rounds - 1) * self.growth)


@dataclass(frozen=True, slots=True)
class BurstPattern:
    """Where bursts go: ``lanes`` by channel, counted from the one that comes first; ``advance`` of it in each cycle."""

    period: int
    advance: int
    lanes: tuple[Lane, ...]


class LastBurst(NamedTuple):
    """The last burst of a window in the channel ``place`` from the first on; each time grows by so much a period.

    It starts ``ready`` cycles after the channel is free, and no sooner than ``arrived`` after bursts arrive first.
    """

    place: int
    ready: int
    ready_growth: int
    arrived: int
    arrived_growth: int


class TilePlan(NamedTuple):
    """The last bursts of one tile: ``last`` are places in those of all tiles, ``others`` come before one of these."""

    last: tuple[int, ...]
    others: tuple[LastBurst, ...]


class WindowPlan(NamedTuple):
    """The last bursts of windows that end at one place of the period: of all tiles, and of each by itself.

    Of windows of less than ``_FROM`` periods that length is the only one.
    """

    every: tuple[LastBurst, ...]
    tiles: tuple[TilePlan, ...]


@dataclass(frozen=True, slots=True)
class Windows:
    """All windows in which ports dispatch at the same rates; ``plans`` are by periods (``_FROM`` at most) and rest."""

    size: int  # channels of the memory
    interval: int
    rates: int  # how many
    pattern: BurstPattern
    plans: dict[tuple[int, int], WindowPlan] = field(default_factory=dict)

    def place(self, free: list[int], turn: int, start: int, length: int) -> tuple[list[int], int]:
        """Place the bursts of ``length`` cycles from ``start`` on, the first of them in the channel ``turn``.

        Returns when the last burst of each tile starts, and the channel that comes next; ``free`` is changed.
        """
        rounds, rest = divmod(length, self.pattern.period)
        further = 0
        if rounds > _FROM:
            rounds, further = _FROM, rounds - _FROM
        key = int(rounds), rest
        plan = self.plans.get(key) or self._planned(*key)
        every, tiles = plan
        ready = free[turn:] + free[:turn]
        starts = _starts(every, ready, start + 1, further)
        size, interval = self.size, self.interval
        for burst, started in zip(every, starts, strict=True):
            free[(turn + burst[0]) % size] = started + interval
        turn = (turn + length * self.pattern.advance) % size
        if self.rates == 1:
            return [max(starts)], turn
        return [
            max([starts[k] for k in last] + _starts(others, ready, start + 1, further)) for last, others in tiles
        ], turn

    def _planned(self, rounds: int, rest: int) -> WindowPlan:
        if len(self.plans) >= _PLANS:
            self.plans.clear()
        plan = self.plans[rounds, rest] = _plan(self, rounds, rest)
        return plan


def _starts(bursts: tuple[LastBurst, ...], ready: list[int], arrival: int, periods: int) -> list[int]:
    """Return when ``bursts`` start in a window that is so many periods longer than the least of its plan."""
    if periods:
        return [
            late if (late := ready[place] + own + periods * more) > (soon := arrival + all_ + periods * later) else soon
            for place, own, more, all_, later in bursts
        ]
    return [
        late if (late := ready[place] + own) > (soon := arrival + all_) else soon
        for place, own, _more, all_, _later in bursts
    ]


@lru_cache(maxsize=64)
def windows_of(channels: int, interval: int, triangular: bool, rates: tuple[int, ...]) -> Windows:
    """Return the windows of ports that dispatch so many bursts in each cycle."""
    return Windows(channels, interval, len(rates), pattern_of(channels, interval, triangular, rates))


def _plan(windows: Windows, rounds: int, rest: int) -> WindowPlan:
    """Return the last bursts of windows of ``rounds`` periods and ``rest`` cycles; of ``_FROM`` and more are alike."""
    every: list[LastBurst] = []
    shared: list[list[int]] = [[] for _ in range(windows.rates)]
    others: list[list[LastBurst]] = [[] for _ in range(windows.rates)]
    interval = windows.interval
    for place, lane in enumerate(windows.pattern.lanes):
        each = len(lane.cycles)
        count = rounds * each + bisect_left(lane.cycles, rest)
        missing = set(lane.tiles)
        for burst in range(count - 1, max(count - each, 0) - 1, -1):
            tile = lane.tiles[burst % each]
            if tile not in missing:
                continue
            missing.remove(tile)
            ready = interval * burst
            more = interval * each
            last = LastBurst(place, ready, more, ready + lane.reach(burst), more + max(lane.growth, 0))
            if burst == count - 1:
                shared[tile].append(len(every))
                every.append(last)
            else:
                others[tile].append(last)
    return WindowPlan(tuple(every), tuple(map(TilePlan, map(tuple, shared), map(tuple, others))))


@lru_cache(maxsize=256)
def spots(channels: int, triangular: bool, total: int) -> int:
    """Return how many bursts a period has."""
    return total * (channels // gcd(channels, _advance(triangular, total)))


def _advance(triangular: bool, total: int) -> int:
    """Return how many channels on from the first the burst comes that ``total`` others of its cycle precede."""
    return total * (total + 1) // 2 if triangular else total


@lru_cache(maxsize=64)
def pattern_of(channels: int, interval: int, triangular: bool, rates: tuple[int, ...]) -> BurstPattern:
    """Return where the bursts of ``rates`` go that leave their ports in each cycle."""
    total = sum(rates)
    advance = _advance(triangular, total)
    period = channels // gcd(channels, advance)
    tiles = [tile for tile, rate in enumerate(rates) for _ in range(rate)]
    found: list[list[tuple[int, int]]] = [[] for _ in range(channels)]
    for cycle in range(period):
        for number, tile in enumerate(tiles):
            found[(cycle * advance + _advance(triangular, number)) % channels].append((cycle, tile))
    return BurstPattern(period, advance, tuple(_lane(bursts, interval, period) for bursts in found))


def _lane(bursts: Sequence[tuple[int, int]], interval: int, period: int) -> Lane:
    early = [cycle - interval * i for i, (cycle, _tile) in enumerate(bursts)]
    before = tuple(accumulate(early, max))
    after = tuple(accumulate(early[:0:-1], max))[::-1]
    cycles, tiles = (tuple(part) for part in zip(*bursts, strict=True)) if bursts else ((), ())
    return Lane(cycles, tiles, before, after, period - interval * len(bursts))
