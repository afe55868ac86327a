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
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import gcd
from typing import Final

from stepcore.timing.hardware import OffChip

MOST_SPOTS: Final = 1 << 16  # bursts of a period: beyond, bursts are placed one by one


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


def place_window(
    memory: OffChip, free: list[int], turn: int, start: int, length: int, rates: tuple[int, ...]
) -> tuple[list[int], int]:
    """Place ``rates`` bursts of each tile in each of ``length`` cycles from ``start`` on.

    Returns the last answer of each tile, and the channel that comes next; ``free`` is changed.
    """
    pattern = pattern_of(memory.channels, memory.interval, memory.interleave == "triangular", rates)
    interval, arrival, size = memory.interval, start + 1, memory.channels
    rounds, rest = divmod(length, pattern.period)
    answers = [0] * len(rates)
    for place, lane in enumerate(pattern.lanes):
        each = len(lane.cycles)
        some = bisect_left(lane.cycles, rest)
        count = rounds * each + some
        if not count:
            continue
        channel = (turn + place) % size
        ready = free[channel]
        missing = set(lane.tiles) if len(rates) > 1 else {0}
        for back in range(1, min(count, each) + 1):
            burst = count - back
            tile = lane.tiles[burst % each]
            if tile in missing:
                started = interval * burst + max(ready, arrival + lane.reach(burst))
                answers[tile] = max(answers[tile], started)
                if back == 1:
                    free[channel] = started + interval
                missing.remove(tile)
                if not missing:
                    break
    return [started + memory.answer for started in answers], (turn + length * pattern.advance) % size


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
