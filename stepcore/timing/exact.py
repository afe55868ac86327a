"""The exact engine: units run until all wait, then memory moves on by a window; regular stretches are skipped.

Without arbitration the order in which units run does not matter, so each runs as far as it can. Where the outermost
loop of a unit comes round, the state is remembered relative to that unit's clock; when a state recurs, everything from
there on is what followed before, later by a constant, and whole periods are taken at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from stepcore.timing import units as inner
from stepcore.timing.fluid import FluidMemory
from stepcore.timing.memory import Memory
from stepcore.timing.network import Network
from stepcore.timing.periods import Periods
from stepcore.timing.rows import Rows

MAX_INSTRUCTIONS: Final = 2_000_000_000
_WAITING: Final = {inner.EMPTY: "empty", inner.FULL: "full", inner.MEMORY: "memory"}


@dataclass(frozen=True, slots=True)
class UnitTime:
    """Where the cycles of a unit went: working, without input, without room, waiting for memory; its last clock."""

    name: str
    clock: int
    worked: int
    starved: int
    blocked: int
    memory: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """A unit that stopped: for ``channel`` to have a token (``empty``) or room (``full``)."""

    unit: int
    channel: int
    reason: str


@dataclass(frozen=True, slots=True)
class ChannelUse:
    """What passed a channel: tokens, and the greatest number that were in it at once."""

    name: str
    depth: int
    put: int
    taken: int
    fill: int


@dataclass(frozen=True, slots=True)
class Timing:
    """The outcome of a run: ``cycles`` is the largest clock; ``waiting`` is empty where it came to its end."""

    cycles: int
    units: tuple[UnitTime, ...]
    channels: tuple[ChannelUse, ...]
    bursts: int
    instructions: int
    skipped: int
    waiting: tuple[Waiting, ...] = ()


def run(network: Network, *, limit: int = MAX_INSTRUCTIONS, fluid: bool = False) -> Timing:
    """Run a network to its end, or until it stops; ``fluid`` estimates what memory does (:mod:`stepcore.timing.fluid`).

    Raises:
        TooLong: more than ``limit`` instructions of units were needed.
    """
    return _Run(network, limit, fluid).run()


class TooLong(Exception):
    """A run needs more instructions of units than were allowed."""


@dataclass(slots=True)
class _Run:
    network: Network
    limit: int
    fluid: bool = False
    memory: Memory = field(init=False)
    state: Rows = field(init=False)
    periods: Periods = field(init=False)
    waited: list[int] = field(init=False)

    def __post_init__(self) -> None:
        made = FluidMemory if self.fluid else Memory
        self.memory = made(self.network.hardware, dict(self.network.dispatch))
        self.state = Rows(self.network)
        self.waited = [0] * len(self.network.units)
        self.periods = Periods(self.state, self.memory, self.waited)

    def run(self) -> Timing:
        state, left = self.state, self.limit
        while True:
            result = state.advance(left)
            left = int(result) if result >= 0 else -1 - result
            if left <= 0:
                raise TooLong(f"more than {self.limit:,} steps of units are needed")
            if result < 0:
                self.periods.beacon()
                continue
            self._asked()
            if not self.memory.pending:
                return self._timing(self.limit - left)
            if state.is_regular:
                self.periods.beacon()
            for tile in self.memory.advance():
                self.waited[tile.unit] += tile.answer - int(state.clock[tile.unit])
                state.wake(tile.unit, tile.answer)

    def _asked(self) -> None:
        """Hand requests that are new to the memory."""
        state = self.state
        for unit in state.memory_units:
            if state.bursts[unit]:
                self.memory.ask(unit, int(state.port[unit]), int(state.cycle[unit]), int(state.bursts[unit]))
                state.bursts[unit] = 0

    def _timing(self, instructions: int) -> Timing:
        state, network = self.state, self.network
        units = tuple(
            UnitTime(
                unit.name,
                int(state.clock[u]),
                int(state.worked[u]),
                int(state.starved[u]),
                int(state.blocked[u]),
                int(self.waited[u]),
            )
            for u, unit in enumerate(network.units)
        )
        channels = tuple(
            ChannelUse(c.name, c.depth, int(state.put[f]), int(state.taken[f]), int(state.fill[f]))
            for f, c in enumerate(network.channels)
        )
        waiting = tuple(
            Waiting(u, int(state.waits_on[u]), _WAITING[int(state.waits[u])])
            for u in range(len(network.units))
            if state.waits[u] in _WAITING
        )
        cycles = max((unit.clock for unit in units), default=0)
        return Timing(cycles, units, channels, self.memory.placed, instructions, self.periods.skipped, waiting)
