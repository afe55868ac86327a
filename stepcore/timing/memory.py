"""Off-chip memory: bursts in order of ports, spread over channels, each answered after a latency.

Between two changes of the set of ports that dispatch, all bursts are placed at once (a *window*,
:mod:`stepcore.timing.windows`). Times are cycles, sizes bursts.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Final

from stepcore.timing.hardware import Hardware
from stepcore.timing.windows import MOST_SPOTS, spots, windows_of

_AT_ONCE: Final = 12  # bursts from which on a window is cheaper than one burst after the other
_IN_TURN: Final = 1 << 16  # bursts that are placed one after the other in one go, where windows do not come round
_PORT: Final = attrgetter("port")


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
    placed: int = 0  # bursts so far
    work: int = 0  # of this module: bursts that were placed one after the other, channels of windows
    held: int = 0  # `outstanding`, where it counts: 0 where bursts follow each other more slowly anyhow
    recent: list[list[int]] = field(default_factory=list)  # by channel: the last starts, where `outstanding` counts
    channels: int = field(init=False)  # what follows is of the chip: looked up with each window
    interval: int = field(init=False)
    latest: int = field(init=False)  # cycles from the start of a burst to its answer
    usual: int = field(init=False)  # bursts a cycle of a port
    triangular: bool = field(init=False)

    def __post_init__(self) -> None:
        memory = self.hardware.memory
        self.channels, self.interval, self.latest = memory.channels, memory.interval, memory.answer
        self.usual, self.triangular = memory.dispatch, memory.interleave == "triangular"
        self.free = [0] * memory.channels
        self.recent = [[] for _ in self.free]
        self.held = memory.outstanding if memory.outstanding * memory.interval < memory.answer else 0

    def frozen(self) -> Memory:
        """Return the state as it stands now: requests and windows to come do not change it."""
        twin = copy(self)
        twin.free, twin.recent = list(self.free), [list(starts) for starts in self.recent]
        twin.pending = [MemoryTile(t.unit, t.port, t.cycle, t.bursts, t.answer) for t in self.pending]
        return twin

    def ask(self, unit: int, port: int, cycle: int, bursts: int) -> None:
        """Take a request in, whose first bursts are dispatched in ``cycle``."""
        self.pending.append(MemoryTile(unit, port, cycle, bursts))

    @property
    def next_cycle(self) -> int:
        """The cycle of the next burst; -1 where none is asked for."""
        return min((tile.cycle for tile in self.pending), default=-1)

    def advance(self, until: int | None = None) -> list[MemoryTile]:
        """Place one window, that ends before the cycle ``until``; return the tiles whose last answer is known now."""
        start, end, active = self._dispatching(until)
        length, rates = -1, []
        for tile in active:
            rate, bursts = self.rate(tile.port), tile.bursts
            if bursts < rate:
                rate, length = bursts, 1
            elif length != 1:
                rounds = bursts // rate
                if length < 0 or rounds < length:
                    length = rounds
            rates.append(rate)
        if end is not None and length != 1 and end - start < length:
            length = end - start
        total = sum(rates)
        comes_round = self._comes_round(total)
        if not comes_round and length > (most := max(_IN_TURN // total, 1)):
            length = most
        self.placed += total * length
        if comes_round and self._is_long(total * length):
            self._window(start, length, active, rates)
        else:
            self.work += total * length
            for cycle in range(length):
                self._cycle(start + cycle, active, rates)
        done = []
        for tile, rate in zip(active, rates, strict=True):
            tile.bursts = left = tile.bursts - rate * length
            tile.cycle = start + length
            if not left:
                done.append(tile)
        if done:
            self.pending = [tile for tile in self.pending if tile.bursts]
        return done

    def _dispatching(self, until: int | None) -> tuple[int, int | None, list[MemoryTile]]:
        """Return the first cycle of the next window, the one before which it ends, and the tiles in order of ports."""
        first, *others = self.pending
        start, end, active = first.cycle, until, [first]
        for tile in others:
            cycle = tile.cycle
            if cycle > start:
                if end is None or cycle < end:
                    end = cycle
            elif cycle == start:
                active.append(tile)
            else:  # what was the first is the next
                end = start if end is None or start < end else end
                start, active = cycle, [tile]
        if len(active) > 1:
            active.sort(key=_PORT)
        return start, end, active

    def state(self, base: int) -> tuple[object, ...]:
        """Return what decides all later answers but :meth:`free_from`, relative to the cycle ``base``.

        No burst is dispatched before. Channels are alike, so they are numbered from the one that comes next.
        """
        size = len(self.free)
        recent = [[t - base for t in self.recent[(self.turn + k) % size]] for k in range(size)]
        return recent, self._tiles(base)

    def free_from(self, base: int) -> list[int]:
        """Return when channels take their next bursts, relative to ``base`` as in :meth:`state`: all of 1 are alike."""
        size = len(self.free)
        return [max(self.free[(self.turn + k) % size] - base, 1) for k in range(size)]

    def set_free(self, base: int, free: Sequence[int]) -> None:
        """Let channels take their next bursts at these cycles, as :meth:`free_from` has them."""
        for k, cycle in enumerate(free):
            self.free[(self.turn + k) % len(free)] = base + cycle

    def _tiles(self, base: int) -> list[tuple[int | None, ...]]:
        return [
            (tile.unit, tile.port, tile.cycle - base, tile.bursts, tile.answer - base if tile.answer else None)
            for tile in self.pending
        ]

    def later(self, cycles: int) -> None:
        """Move everything by so many cycles."""
        self.free[:] = [free + cycles for free in self.free]
        self.recent = [[start + cycles for start in starts] for starts in self.recent]
        for tile in self.pending:
            tile.cycle += cycles
            tile.answer += cycles if tile.answer else 0

    def rate(self, port: int) -> int:
        """Return how many bursts a port dispatches in a cycle."""
        return self.dispatch.get(port, self.usual)

    def _window(self, start: int, length: int, active: list[MemoryTile], rates: list[int]) -> None:
        windows = windows_of(self.channels, self.interval, self.triangular, tuple(rates))
        started, self.turn = windows.place(self.free, self.turn, start, length)
        self.work += self.channels
        for tile, last in zip(active, started, strict=True):
            answer = last + self.latest
            tile.answer = max(tile.answer, answer)

    def _is_long(self, bursts: int) -> bool:
        """Return whether a window of so many bursts is placed at once."""
        return bursts >= _AT_ONCE

    def _comes_round(self, total: int) -> bool:
        """Return whether windows of ``total`` bursts in each cycle can be placed at once."""
        return not self.held and spots(self.channels, self.triangular, total) <= MOST_SPOTS

    def _cycle(self, cycle: int, active: list[MemoryTile], rates: list[int]) -> None:
        free, channels, soonest = self.free, self.channels, cycle + 1
        number = step = 0  # bursts so far, and how many channels they went on
        for tile, rate in zip(active, rates, strict=True):
            last = tile.answer - self.latest
            for _ in range(rate):
                channel = (self.turn + step) % channels
                started = free[channel]
                if started < soonest:  # noqa: PLR1730  # a call for each burst would cost more
                    started = soonest
                if self.held:
                    started = self._held(channel, started)
                free[channel] = started + self.interval
                if started > last:  # noqa: PLR1730  # so it would here
                    last = started
                number += 1
                step += number if self.triangular else 1
            tile.answer = last + self.latest
        self.turn = (self.turn + step) % channels

    def _held(self, channel: int, started: int) -> int:
        """Return when a burst starts that waits until no more than ``outstanding`` others are under way."""
        recent = self.recent[channel]
        if len(recent) >= self.held:
            started = max(started, recent[-self.held] + self.latest)
        recent.append(started)
        del recent[: -self.held]
        return started
