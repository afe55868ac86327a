"""The state of a run as rows of whole numbers, for :func:`stepcore.timing.units.run_units`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from itertools import accumulate, pairwise
from typing import Any, Final, Literal, TypeAlias

from stepcore.timing import units as inner
from stepcore.timing.hardware import OffChip
from stepcore.timing.instructions import Code
from stepcore.timing.memory import Memory, MemoryTile
from stepcore.timing.microcode import Choose, Decide, Instruction, Op, Times
from stepcore.timing.network import Network, Traffic
from stepcore.timing.recorder import KINDS, RunRecorder

WaitReason: TypeAlias = Literal["empty", "full", "memory"]
_SMALL: Final = 1 << 31  # cycles of one instruction: as many instructions fit into 64 bits
COMPILE_FROM: Final = 60_000  # tokens, or numbers that the data decide, from which on machine code is worth its loading
FEW_TOKENS: Final = 600  # of a whole run, below which to look for what recurs costs more than it saves
MOST_HELD: Final = 1 << 20  # bursts under way that are remembered where the inner loop follows memory
FEW_BURSTS: Final = 128  # of a request, up to which without machine code, too, it is cheaper to place them one by one
LEAST_ROWS: Final = 16  # rounds of a loop, below which it is no loop of rows
FEW_REGULAR: Final = 64  # the same in regular programs, whose windows come round and are skipped

_FIXED: Final = frozenset(
    {"depth", "latency", "response", "size", "offset", "producer", "consumer", "deciders", "memory_units", "rate"}
)  # rows that a run does not change

_WAITING: Final[Mapping[int, WaitReason]] = {
    inner.MEMORY: "memory", inner.FIRST_TOKEN: "empty", inner.FIRST_SLOT: "full",
}  # fmt: skip


def vars_of(holder: Rows | Code) -> list[tuple[str, list[int]]]:
    """Return the rows of ``holder`` by name."""
    names = [item.name for item in fields(holder)] if isinstance(holder, Code) else list(vars(holder))
    return [(name, row) for name in names if isinstance(row := getattr(holder, name), list)]


class Rows:
    """Code, units, channels and the queue of units that can run; see :func:`run_units` for what the rows hold."""

    def __init__(
        self, network: Network, traffic: Traffic, *, compile_it: bool = True, memory: Memory | None = None
    ) -> None:
        count, channels = len(network.units), len(network.channels)
        self.code = Code.empty()
        self.place = [self.code.add(unit.body) for unit in network.units]
        self.clock = [0] * count
        self.tops = [u * inner.STACK - 1 for u in range(count)]
        self.rounds, self.entered = [0] * (count * inner.STACK), [0] * (count * inner.STACK)
        self.waits, self.waits_on = [inner.RUNNING] * count, [-1] * count
        self.starved, self.blocked, self.worked = [0] * count, [0] * count, [0] * count
        self.depth = [channel.depth for channel in network.channels]
        self.latency = [channel.latency for channel in network.channels]
        self.response = [channel.response for channel in network.channels]
        # No more slots are remembered than there are tokens.
        self.size = [max(min(depth, count), 1) for depth, count in zip(self.depth, traffic.tokens, strict=True)]
        self.offset = list(accumulate(self.size[:-1], initial=0)) if channels else []
        self.put, self.taken = [0] * channels, [0] * channels
        self.fill, self.oldest, self.waiter = [0] * channels, [0] * channels, [-1] * channels
        self.visible, self.freed = [0] * sum(self.size), []
        for response, size in zip(self.response, self.size, strict=True):
            self.freed += [-response] * size  # slots that were never taken are free from 0 on
        self.producer, self.consumer = network.ends()
        self.closed = [0] * channels
        self.port, self.cycle, self.bursts = [0] * count, [0] * count, [0] * count
        self.queue, self.where = [*range(count), 0], [0, count, inner.NEVER]
        self.deciders = list(traffic.deciders)
        self.choice, self.logged = [-1] * count, list(accumulate(traffic.decisions[:-1], initial=0))
        self.begun = list(self.logged)
        self.chosen = [0] * sum(traffic.decisions)
        ports = [_ports(unit.body) for unit in network.units]
        self.memory_units = sorted((u for u, asked in enumerate(ports) if asked), key=lambda u: min(ports[u]))
        self.row_unit = _row_unit(self.code, self.place) if self.memory_units else -1
        self.waited, self.answer = [0] * count, [0] * count
        self.rate, self.free, self.sent, self.recent, self.total = [0], [0], [0], [0], [0, 0]
        self.chip = 0, 0, 0, 0
        self.follows = False  # memory, too
        self.beacon, self.listens = _beacon(self.code), 0
        self._run: Callable[..., int] = inner.run_units
        self._grouped: tuple[tuple[Any, ...], ...] | None = None  # what it takes
        # What the data decide does not recur, so all that counts there is how quickly instructions run.
        self.is_regular = not self.code.tables
        self.may_recur = self.is_regular and sum(traffic.tokens) >= FEW_TOKENS
        self.pauses, self.goes = inner.NEVER, False
        self.listed = tuple(name for name, _row in vars_of(self) if name not in _FIXED)
        if compile_it and self.is_regular:
            if memory is not None and not memory.held and self._most_bursts() <= FEW_REGULAR:
                self._follow(memory, ports)
        elif compile_it:
            compiled = inner.compiled() if self._is_worth_it(network, traffic) else None
            if memory is not None and (compiled is not None or self._most_bursts() <= FEW_BURSTS):
                self._follow(memory, ports)
            if compiled is not None:
                self._compile(compiled)

    def _is_worth_it(self, network: Network, traffic: Traffic) -> bool:
        """Return whether machine code saves more than its loading takes, and can be used."""
        is_much = max(len(self.code.tables), sum(traffic.tokens)) >= COMPILE_FROM
        return is_much and self._is_small(network.hardware.memory)

    def _most_bursts(self) -> int:
        """Return how large the largest request of memory is."""
        code = self.code
        return max((size for op, size in zip(code.op, code.second, strict=True) if op == Op.REQUEST), default=0)

    def _follow(self, memory: Memory, ports: list[set[int]]) -> None:
        """Let the inner loop follow ``memory``: there some bursts, in machine code all, cost less than a window.

        Each port has to be that of one unit.
        """
        chip, asked = memory.hardware.memory, [port for found in ports for port in found]
        if memory.held * chip.channels > MOST_HELD or not len(asked) == len(set(asked)) == len(self.memory_units):
            return
        self.rate = [memory.rate(min(asked)) if asked else 0 for asked in ports]
        self.free, self.sent = memory.free, [0] * chip.channels
        self.recent = [0] * max(memory.held * chip.channels, 1)
        self.chip = chip.interval, chip.answer, int(chip.interleave == "triangular"), memory.held
        self.follows = True

    def _is_small(self, memory: OffChip) -> bool:
        """Return whether no clock can grow beyond 64 bits in as many instructions as a run may take."""
        requests = [size for op, size in zip(self.code.op, self.code.second, strict=True) if op == Op.REQUEST]
        most = max(*self.code.first, *self.code.tables, *self.latency, *self.response, *self.depth, *requests)
        return most * memory.interval + memory.answer < _SMALL

    def _compile(self, compiled: Callable[..., int]) -> None:
        """Make the rows arrays, and run ``compiled``."""
        import numpy as np

        for holder in (self, self.code):
            for name, row in vars_of(holder):
                setattr(holder, name, np.asarray(row, dtype=np.int64))
        self._run = compiled

    def frozen(self) -> Rows:
        """Return the state as it stands now: a run does not change it."""
        twin = object.__new__(Rows)
        twin.__dict__.update(self.__dict__)
        for name in self.listed:
            twin.__dict__[name] = self.__dict__[name][:]
        twin._grouped = None
        return twin

    def record(self, recorder: RunRecorder) -> None:
        """Let ``recorder`` see the rows that grow, each time: no unit hands on several tokens in one go."""
        self.code.alone = [-1] * len(self.code.op)
        recorder.begin(len(self.place), (self.producer, self.consumer))
        self.worked, self.starved, self.blocked, self.waited = (recorder.cycles(kind) for kind in KINDS)
        self.put, self.taken = (
            recorder.tokens(recorder.put, self.producer),
            recorder.tokens(recorder.taken, self.consumer),
        )

    def advance(self, steps: int, horizon: int) -> int:
        """Run until all units wait, or the beacon comes by; see :func:`run_units`."""
        beacon = self.beacon if self.may_recur else -1
        goes, self.goes = self.goes, False
        if self._grouped is None:
            self._grouped = self._groups()
        return self._run(
            *self._grouped, (beacon, self.listens, horizon, int(self.follows), self.pauses, int(goes)), steps
        )

    def _groups(self) -> tuple[tuple[Any, ...], ...]:
        """Return the rows as :func:`run_units` takes them: they stay the same, what is in them changes."""
        code = self.code
        return (
            (code.op, code.first, code.second, code.cursor, code.tables, code.alone),
            (self.place, self.clock, self.tops, self.rounds, self.entered, self.waits, self.waits_on),
            (self.starved, self.blocked, self.worked),
            (
                self.depth,
                self.latency,
                self.response,
                self.offset,
                self.size,
                self.put,
                self.taken,
                self.fill,
                self.oldest,
                self.waiter,
            ),
            (self.visible, self.freed),
            (self.producer, self.closed),
            (self.port, self.cycle, self.bursts),
            (self.queue, self.where),
            (self.deciders, self.choice, self.chosen, self.logged),
            (self.memory_units, self.rate, self.answer, self.waited, self.free, self.sent, self.recent, self.total),
            self.chip,
        )

    def queued(self) -> list[int]:
        """Return the units that can run, in turn."""
        head, tail, _soonest = self.where
        return self.queue[head:tail] if head <= tail else self.queue[head:] + self.queue[:tail]

    @property
    def uses_memory(self) -> bool:
        """True as long as a unit is there that may ask memory for something."""
        return any(self.waits[u] != inner.ENDED for u in self.memory_units)

    @property
    def decision(self) -> int | None:
        """The time of the soonest decision by arrival that waits for memory; None where there is none."""
        return None if self.where[2] == inner.NEVER else int(self.where[2])

    def order(self) -> dict[int, tuple[int, ...]]:
        """Return what was decided by arrival: places of channels, in order, of each unit that decides."""
        decided = {int(u): tuple(map(int, self.chosen[self.begun[u] : self.logged[u]])) for u in self.deciders}
        return {u: row for u, row in decided.items() if row}

    def count_left(self) -> None:
        """Let tokens that nobody took count in the greatest fills, as those count that were taken."""
        for f, size in enumerate(self.size):
            if self.was_full(f):
                continue
            start, low = self.offset[f], self.oldest[f]
            for k in range(self.taken[f], self.put[f]):
                given = self.visible[start + k % size] - self.latency[f]
                while low < self.taken[f] and self.freed[start + low % size] <= given:
                    low += 1
                self.fill[f] = max(self.fill[f], k - low + 1)

    def was_full(self, f: int) -> bool:
        """Return whether channel ``f`` was full once: then ``oldest`` is followed no more."""
        return bool(self.fill[f] >= self.depth[f])

    def waiting(self) -> Iterator[tuple[int, int, WaitReason]]:
        """Yield the units that wait, in their order, for which channel, and why."""
        on = {int(u): f for f, u in enumerate(self.waiter) if u >= 0}
        for u, waits in enumerate(self.waits):
            if u in on:
                yield u, on[u], "empty" if self.consumer[on[u]] == u else "full"
            elif waits in _WAITING:
                yield u, int(self.waits_on[u]), _WAITING[int(waits)]

    def requests(self) -> Iterator[tuple[int, int, int, int]]:
        """Yield what units ask memory for and was not yielded yet: unit, port, first cycle, bursts."""
        for unit in self.memory_units:
            if self.bursts[unit]:
                yield unit, self.port[unit], self.cycle[unit], self.bursts[unit]
                self.bursts[unit] = 0

    def show(self, memory: Memory) -> None:
        """Let ``memory``, which the inner loop follows, be as it stands there; ``free`` is one row for both."""
        memory.turn, memory.placed = self.total
        memory.pending = [
            MemoryTile(u, self.port[u], self.cycle[u], self.bursts[u], self.answer[u])
            for u in self.memory_units
            if self.bursts[u]
        ]

    def heed(self, memory: Memory) -> None:
        """Let the inner loop, which follows ``memory``, go on from what that has become since :meth:`show`."""
        self.total[:] = memory.turn, memory.placed
        for tile in memory.pending:
            self.cycle[tile.unit], self.bursts[tile.unit] = tile.cycle, tile.bursts
            self.answer[tile.unit] = tile.answer

    def leave(self, memory: Memory) -> None:
        """Let ``memory``, that the inner loop followed and that was shown, go on by windows."""
        self.follows = False
        for tile in memory.pending:
            self.bursts[tile.unit] = self.answer[tile.unit] = 0

    def wake(self, unit: int, clock: int) -> None:
        """Let a unit that waited for memory until ``clock`` run again."""
        self.waited[unit] += clock - self.clock[unit]
        self.clock[unit] = clock
        self.waits[unit] = inner.RUNNING
        tail = self.where[1]
        self.queue[tail] = unit
        self.where[1] = (tail + 1) % len(self.queue)


def _ports(body: tuple[Instruction, ...]) -> set[int]:
    """Return the ports through which a unit asks memory."""
    found: set[int] = set()
    for item in body:
        if isinstance(item, Choose | Decide):
            found.update(*map(_ports, item.bodies))
        elif isinstance(item, Times):
            found |= _ports(item.body)
        elif item.op is Op.REQUEST:
            found.add(item.on)
    return found


def _beacon(code: Code) -> int:
    """Return where the loop begins that runs most often in all, of equals the longest: a state can recur there."""
    found: list[tuple[int, int, int]] = []  # rounds in all, rounds, place
    around: list[tuple[int, int]] = []  # of loops, where they end and what their rounds come to
    for at, op in enumerate(code.op):
        while around and at >= around[-1][0]:
            around.pop()
        if op == Op.LOOP:
            rounds = code.first[at]
            around.append((code.second[at], rounds * (around[-1][1] if around else 1)))
            found.append((around[-1][1], rounds, at))
    return max(found, key=lambda loop: (loop[:2], -loop[2]))[2] + 1 if found else -1


def _row_unit(code: Code, starts: list[int]) -> int:
    """Return the unit that has the loop, of those in no other, with the fewest rounds (at least ``LEAST_ROWS``).

    Where none has twice as many there are no rows (-1): each is as long as a round of any other.
    """
    found: list[tuple[int, int]] = []  # rounds, unit
    for unit, (start, end) in enumerate(pairwise((*starts, len(code.op)))):
        at = start
        while at < end:
            if code.op[at] == Op.LOOP:
                found.append((code.first[at], unit))
                at = code.second[at]
            else:
                at += 1
    most = max(found, default=(0, -1))[0]
    return min((loop for loop in found if LEAST_ROWS <= loop[0] <= most // 2), default=(0, -1))[1]
