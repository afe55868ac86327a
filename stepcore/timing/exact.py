"""The exact engine: units run until all wait, then memory moves on by a window; regular stretches are skipped.

Without arbitration the order in which units run does not matter, so each runs as far as it can. Where the outermost
loop of a unit comes round, the state is remembered relative to that unit's clock; when a state recurs, everything from
there on is what followed before, later by a constant, and whole periods are taken at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from stepcore.timing import units as inner
from stepcore.timing.fluid import FluidMemory
from stepcore.timing.memory import Memory, MemoryTile
from stepcore.timing.network import Network, Traffic
from stepcore.timing.periods import DEAF, Periods
from stepcore.timing.recorder import RunRecorder
from stepcore.timing.rows import Rows, WaitReason
from stepcore.timing.search_budget import SHARE, SHARE_WITHIN, SearchBudget, expected_steps

MAX_INSTRUCTIONS: Final = 1_000_000_000  # below 2**30, up to which Python counts quickly
MAX_DISPATCH: Final = 4096  # bursts a cycle of a port
MAX_SLOTS: Final = 1 << 22  # of all FIFOs together, each of which is remembered
MAX_DECISIONS: Final = 1 << 22  # by arrival, each of which is remembered


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
    """A unit that stopped: for ``channel`` to have a token (``empty``) or room (``full``).

    A unit that waits for any of several channels is said to wait for the first that is not done.
    """

    unit: int
    channel: int
    reason: WaitReason


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
    """The outcome of a run: ``cycles`` is the largest clock; ``waiting`` is empty where it came to its end.

    ``order`` is what arrival decided, by unit: places of the channels that were taken (inputs, selected branches, or
    lanes of the unit's :class:`stepcore.timing.microcode.Decide`), one decision after the other. ``lost`` are units
    that ended because the data of more chunks were asked for than they had: of another order than that of the run.
    """

    cycles: int
    units: tuple[UnitTime, ...]
    channels: tuple[ChannelUse, ...]
    bursts: int
    instructions: int
    skipped: int
    waiting: tuple[Waiting, ...] = ()
    order: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    lost: tuple[int, ...] = ()


def run(
    network: Network, *, limit: int = MAX_INSTRUCTIONS, fluid: bool = False, recorder: RunRecorder | None = None
) -> Timing:
    """Run a network to its end, or until it stops; ``fluid`` estimates what memory does (:mod:`stepcore.timing.fluid`).

    ``recorder`` is told what happens when.

    Raises:
        TooLong: more than ``limit`` instructions of units and steps of memory were needed.
    """
    return _Run(network, limit, fluid, recorder).run()


class TooLong(Exception):
    """A run needs more steps than were allowed, or more memory for tokens in flight; ``way_out`` is what to change."""

    def __init__(self, reason: str, way_out: str = "give smaller sizes") -> None:
        super().__init__(reason)
        self.way_out = way_out


@dataclass(slots=True)
class _Run:
    network: Network
    limit: int
    fluid: bool = False
    recorder: RunRecorder | None = None
    memory: Memory = field(init=False)
    state: Rows = field(init=False)
    periods: Periods = field(init=False)

    def __post_init__(self) -> None:
        fastest = max(self.network.hardware.memory.dispatch, *self.network.dispatch.values(), 0)
        if fastest > MAX_DISPATCH:
            told = f"a port dispatches {fastest:,} bursts a cycle, and {MAX_DISPATCH:,} can be followed"
            raise TooLong(told, "give a smaller dispatch")
        traffic = self.network.traffic()
        slots = self.network.slots(traffic)
        if slots > MAX_SLOTS:
            raise TooLong(f"FIFOs hold {slots:,} tokens together, and {MAX_SLOTS:,} can be followed")
        decisions = sum(traffic.decisions)
        if decisions > MAX_DECISIONS:
            raise TooLong(f"arrival decides {decisions:,} times, and {MAX_DECISIONS:,} can be followed")
        made = FluidMemory if self.fluid else Memory
        self.memory = made(self.network.hardware, dict(self.network.dispatch))
        exact = None if self.fluid else self.memory
        self.state = Rows(self.network, traffic, compile_it=self.recorder is None, memory=exact)
        if self.recorder is not None:
            self.state.record(self.recorder)
        self.periods = Periods(self.state, self.memory, *self._budgets(traffic), self.recorder)

    def _budgets(self, traffic: Traffic) -> tuple[SearchBudget, SearchBudget]:
        ends = zip(*self.network.ends(), traffic.tokens, strict=True)
        askers = set(self.state.memory_units)
        requests = sum(count for producer, consumer, count in ends if askers & {producer, consumer})
        parts = len(self.network.units) + len(self.network.channels)
        expected = expected_steps(sum(traffic.tokens), requests)
        made = partial(SearchBudget.of, self.limit, expected, parts)
        return made(SHARE), made(SHARE_WITHIN)

    def run(self) -> Timing:
        state, left = self.state, self.limit
        state.listens = left - DEAF if state.uses_memory else left
        state.pauses = left if state.may_recur else inner.NEVER
        while True:
            horizon = self.memory.next_cycle if len(state.deciders) else inner.NEVER
            result = state.advance(left, horizon) if left > 0 else 0
            left = int(result) if result >= 0 else -1 - result
            if left <= 0:
                raise TooLong(f"more than {self.limit:,} steps of units and of memory are needed")
            if result < 0:
                self.periods.beacon(left)
                left, self.periods.work = left - self.periods.work, 0
                continue
            self._asked()
            if not self.memory.pending:
                return self._timing(self.limit - left)
            if state.may_recur:
                self.periods.waits(left)
            done = self._answered()
            left -= self.memory.work + self.periods.work
            self.memory.work = self.periods.work = 0
            for tile in done:
                state.wake(tile.unit, tile.answer)

    def _answered(self) -> list[MemoryTile]:
        """Let memory move on by a window; return the requests whose last answer is known now."""
        if self.state.follows:
            self.state.goes = True
            return []
        if self.recorder is None:
            return self.memory.advance(self.state.decision)
        first, before = min(self.memory.pending, key=lambda tile: tile.cycle), self.memory.placed
        start = first.cycle
        done = self.memory.advance(self.state.decision)
        self.recorder.window(start, first.cycle - start, self.memory.placed - before)
        return done

    def _asked(self) -> None:
        """Hand requests that are new to the memory."""
        state = self.state
        if state.follows:
            if state.is_regular:  # else those that are left wait for a decision that never comes
                state.show(self.memory)
            return
        for request in state.requests():
            self.memory.ask(*map(int, request))

    def _timing(self, instructions: int) -> Timing:
        state, network = self.state, self.network
        state.count_left()
        units = tuple(
            UnitTime(
                unit.name,
                int(state.clock[u]),
                int(state.worked[u]),
                int(state.starved[u]),
                int(state.blocked[u]),
                int(state.waited[u]),
            )
            for u, unit in enumerate(network.units)
        )
        channels = tuple(
            ChannelUse(c.name, c.depth, int(state.put[f]), int(state.taken[f]), int(state.fill[f]))
            for f, c in enumerate(network.channels)
        )
        waiting = tuple(Waiting(u, f, reason) for u, f, reason in state.waiting())
        lost = tuple(u for u in range(len(network.units)) if state.waits[u] == inner.LOST)
        cycles = max((unit.clock for unit in units), default=0)
        skipped, order = self.periods.skipped, state.order()
        bursts = int(state.total[1]) if state.follows else self.memory.placed
        return Timing(cycles, units, channels, bursts, instructions, skipped, waiting, order, lost)
