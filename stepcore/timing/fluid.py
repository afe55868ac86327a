"""Memory as one server: the estimate while one types.

Long windows are served at the bandwidth of all channels together, behind what waits already; short ones burst by burst.
Units and the channels between them are those of the exact engine, so what is lost is how evenly a long tile leaves the
channels of the memory behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from stepcore.timing.memory import Memory, MemoryTile
from stepcore.timing.windows import MOST_SPOTS, pattern_of, spots

_AT_ONCE: Final = 48  # bursts from which on a window is estimated


@dataclass(slots=True)
class FluidMemory(Memory):
    """Channels that a long window leaves all alike."""

    def _window(self, start: int, length: int, active: list[MemoryTile], rates: list[int]) -> None:
        memory = self.hardware.memory
        interval = max(memory.interval, -(-memory.answer // self.held)) if self.held else memory.interval
        triangular = memory.interleave == "triangular"
        busiest, period = _busiest(memory.channels, triangular, tuple(rates))
        waiting = sum(free - start - 1 for free in self.free if free > start) // memory.channels
        served = -(-busiest * interval * length // period)
        # Behind what waits already and from the first cycle on without a pause, or with the bursts of the last cycle.
        free = start + max(1 + waiting + served, length + interval)
        self.free[:] = [free - interval + memory.interval] * memory.channels
        self.recent = [[free - interval * k for k in range(self.held, 0, -1)] for _ in self.recent]
        self.work += memory.channels
        for tile in active:
            tile.answer = max(tile.answer, free - interval + memory.answer)

    def _is_long(self, bursts: int) -> bool:
        return bursts >= _AT_ONCE

    def _comes_round(self, total: int) -> bool:
        return True


@lru_cache(maxsize=64)
def _busiest(channels: int, triangular: bool, rates: tuple[int, ...]) -> tuple[int, int]:
    """Return how many bursts the channel gets that gets most, and in how many cycles."""
    if spots(channels, triangular, sum(rates)) > MOST_SPOTS:
        return sum(rates), channels
    pattern = pattern_of(channels, 1, triangular, rates)
    return max(len(lane.cycles) for lane in pattern.lanes), pattern.period
