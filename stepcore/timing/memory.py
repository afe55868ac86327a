"""Off-chip memory: bursts in order of ports, spread over channels, each answered after a latency.

Between two changes of the set of ports that dispatch, all bursts are placed at once (a *window*): sorted by channel,
their starts are a running maximum. Times are cycles, sizes bursts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from stepcore.timing.hardware import Hardware

_AT_ONCE: Final = 48  # bursts from which on a window is placed by numpy


@dataclass(slots=True)
class MemoryTile:
    """A request that is on its way: who waits, its port, the cycle and size of what is left, the last answer so far."""

    unit: int
    port: int
    cycle: int
    bursts: int
    answer: int = 0


@dataclass(slots=True)
class Memory:
    """The state of the channels, and the requests that are not placed yet."""

    hardware: Hardware
    dispatch: dict[int, int] = field(default_factory=dict)  # bursts a cycle of a port that has a rate of its own
    pending: list[MemoryTile] = field(default_factory=list)
    free: list[int] = field(default_factory=list)  # by channel: when it takes the next burst
    turn: int = 0  # the channel that comes next
    clock: int = 0  # the first cycle that was not looked at yet
    placed: int = 0  # bursts so far
    recent: list[list[int]] = field(default_factory=list)  # by channel: the last starts, where `outstanding` counts

    def __post_init__(self) -> None:
        self.free = [0] * self.hardware.memory.channels
        self.recent = [[] for _ in self.free]

    def ask(self, unit: int, port: int, cycle: int, bursts: int) -> None:
        """Take a request in, whose first bursts are dispatched in ``cycle``."""
        self.pending.append(MemoryTile(unit, port, cycle, bursts))

    def advance(self) -> list[MemoryTile]:
        """Place one window; return the tiles whose last answer is known now."""
        start = min(tile.cycle for tile in self.pending)
        active = sorted((tile for tile in self.pending if tile.cycle == start), key=lambda tile: tile.port)
        rates = [min(self._rate(tile.port), tile.bursts) for tile in active]
        later = min((tile.cycle for tile in self.pending if tile.cycle > start), default=None)
        length = 1
        if all(rate == self._rate(tile.port) for tile, rate in zip(active, rates, strict=True)):
            length = min(tile.bursts // rate for tile, rate in zip(active, rates, strict=True))
            if later is not None:
                length = min(length, later - start)
        self._place(start, length, active, rates)
        for tile, rate in zip(active, rates, strict=True):
            tile.bursts -= rate * length
            tile.cycle = start + length
        self.clock = start + length
        done = [tile for tile in active if not tile.bursts]
        self.pending = [tile for tile in self.pending if tile.bursts]
        return done

    def state(self, base: int) -> tuple[object, ...]:
        """Return what decides all later answers, relative to the cycle ``base``, before which no burst is dispatched.

        Channels are alike, so they are numbered from the one that comes next.
        """
        size = len(self.free)
        free = [max(self.free[(self.turn + k) % size] - base, 1) for k in range(size)]
        recent = [[t - base for t in self.recent[(self.turn + k) % size]] for k in range(size)]
        return free, recent, self._tiles(base)

    def _tiles(self, base: int) -> list[tuple[int | None, ...]]:
        return [
            (tile.unit, tile.port, tile.cycle - base, tile.bursts, tile.answer - base if tile.answer else None)
            for tile in self.pending
        ]

    def later(self, cycles: int) -> None:
        """Move everything by so many cycles."""
        self.clock += cycles
        self.free[:] = [free + cycles for free in self.free]
        self.recent = [[start + cycles for start in starts] for starts in self.recent]
        for tile in self.pending:
            tile.cycle += cycles
            tile.answer += cycles if tile.answer else 0

    def _rate(self, port: int) -> int:
        return self.dispatch.get(port, self.hardware.memory.dispatch)

    def _place(self, start: int, length: int, active: list[MemoryTile], rates: list[int]) -> None:
        total = sum(rates)
        self.placed += total * length
        place_window = _window() if total * length >= _AT_ONCE and not self.hardware.memory.outstanding else None
        if place_window is None:
            for cycle in range(start, start + length):
                self._cycle(cycle, active, rates)
            return
        answers, self.turn = place_window(self.hardware, self.free, self.turn, start, length, total)
        at = 0
        for tile, rate in zip(active, rates, strict=True):
            tile.answer = max(tile.answer, int(answers[:, at : at + rate].max()))
            at += rate

    def _cycle(self, cycle: int, active: list[MemoryTile], rates: list[int]) -> None:
        memory, number = self.hardware.memory, 0
        triangular = memory.interleave == "triangular"
        for tile, rate in zip(active, rates, strict=True):
            for _ in range(rate):
                step = number * (number + 1) // 2 if triangular else number
                channel = (self.turn + step) % memory.channels
                started = max(cycle + 1, self.free[channel])
                if memory.outstanding:
                    started = self._held(channel, started)
                self.free[channel] = started + memory.interval
                tile.answer = max(tile.answer, started + memory.answer)
                number += 1
        self.turn = (self.turn + (number * (number + 1) // 2 if triangular else number)) % memory.channels

    def _held(self, channel: int, started: int) -> int:
        """Return when a burst starts that waits until no more than ``outstanding`` others are under way."""
        memory, recent = self.hardware.memory, self.recent[channel]
        if len(recent) >= memory.outstanding:
            started = max(started, recent[-memory.outstanding] + memory.answer)
        recent.append(started)
        del recent[: -memory.outstanding]
        return started


@cache
def _window() -> Callable[..., tuple[Any, int]] | None:
    """Return what places a window at once, None where numpy is not installed."""
    try:
        from stepcore.timing.windows import place_window
    except ImportError:
        return None
    return place_window
