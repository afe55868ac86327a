"""Memory as one server: the estimate while one types.

Bursts are served in the order in which ports dispatch them, at the bandwidth of all channels together. Units and the
channels between them are those of the exact engine, so what is lost is how evenly the channels of the memory are used.
"""

from __future__ import annotations

from dataclasses import dataclass

from stepcore.timing.memory import Memory, MemoryTile


@dataclass(slots=True)
class FluidMemory(Memory):
    """The state of the server: when it is free, in cycles times the number of channels, which is a whole number."""

    ready: int = 0

    def _place(self, start: int, length: int, active: list[MemoryTile], rates: list[int]) -> None:
        memory, total = self.hardware.memory, sum(rates)
        self.placed += total * length
        cycle, window = total * memory.interval, total * length * memory.interval
        # Behind what waits already; or from the first cycle on without a pause; or the bursts of the last cycle alone.
        self.ready = max(
            self.ready + window, (start + 1) * memory.channels + window, (start + length) * memory.channels + cycle
        )
        last = -(-self.ready // memory.channels) - memory.interval
        for tile in active:
            tile.answer = max(last, start + length) + memory.answer

    def state(self, base: int) -> tuple[object, ...]:
        """Return what decides all later answers, relative to the cycle ``base``."""
        return max(self.ready - base * self.hardware.memory.channels, 0), self._tiles(base)

    def later(self, cycles: int) -> None:
        """Move everything by so many cycles."""
        Memory.later(self, cycles)
        self.ready += cycles * self.hardware.memory.channels
