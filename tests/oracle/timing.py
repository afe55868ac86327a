"""A literal engine of networks of units: cycle after cycle, all that can happen in one happens. It shares no code.

Each unit is a generator over its instructions. In a cycle memory dispatches first what was asked for before; then units
go on in turn until none can. Times are never computed from each other: a token is seen when its cycle has come.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from stepcore.timing.hardware import Hardware
from stepcore.timing.microcode import Choose, Decide, Instruction, Op, Step, Times
from stepcore.timing.network import Network


@dataclass
class Fifo:
    """The cycles in which tokens were put and taken; latency and response are added by who looks."""

    depth: int
    latency: int
    response: int
    put: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    closed: bool = False

    def fill(self) -> int:
        """Return how many tokens were in it at most, at the moment of a put; the one that is put is."""
        most = 0
        for i, now in enumerate(self.put):
            there = 1 + sum(1 for j in range(i) if j >= len(self.taken) or self.taken[j] > now)
            most = max(most, there)
        return most


@dataclass
class Asked:
    """What a unit asked of memory: bursts that were not dispatched yet, and the answers to the others."""

    port: int
    since: int
    bursts: int
    answers: list[int] = field(default_factory=list)


@dataclass
class Outcome:
    """What a run came to: its cycles, the greatest fill of each channel, and who waits for what, where it stopped."""

    cycles: int
    fills: list[int]
    waiting: list[tuple[int, int, str]]
    bursts: int
    order: dict[int, list[int]]

    def ringed(self, network: Network) -> set[int]:
        """Return the units that wait for each other: whoever nobody waits for is struck out, again and again."""
        left = {u: (f, why) for u, f, why in self.waiting}
        while True:
            awaited = {
                other
                for f, why in left.values()
                for other, unit in enumerate(network.units)
                if f in (unit.writes if why == "empty" else unit.reads)
            }
            if set(left) <= awaited:
                return set(left)
            left = {u: on for u, on in left.items() if u in awaited}


class Literal:
    """One run of a network."""

    def __init__(self, network: Network) -> None:
        self.network, self.chip = network, network.hardware
        self.fifos = [Fifo(item.depth, item.latency, item.response) for item in network.channels]
        self.now = 0
        self.clock = [0] * len(network.units)
        self.waits: list[tuple[str, int]] = [("run", -1)] * len(network.units)
        self.any_of: list[tuple[int, ...]] = [()] * len(network.units)  # of a decision: all channels that it waits for
        self.order: dict[int, list[int]] = {u: [] for u, unit in enumerate(network.units) if _decides(unit.body)}
        self.asked: list[Asked | None] = [None] * len(network.units)
        self.units = [self._unit(u) for u in range(len(network.units))]
        self.live = set(range(len(network.units)))
        self.start, self.free = 0, [0] * self.chip.memory.channels
        self.starts: list[list[int]] = [[] for _ in self.free]
        self.bursts = 0

    def run(self, most: int = 1_000_000) -> Outcome:
        """Go through the cycles until nothing is left that could happen."""
        while self.live:
            self._dispatch()
            went_on = True
            while went_on:
                went_on = bool([u for u in sorted(self.live) if self._go_on(u)])
            if self._stuck():
                break
            self.now += 1
            assert self.now < most, "the literal engine takes no programs of that length"
        waiting = [(u, *self.waits[u]) for u in sorted(self.live)]
        for u, (why, f) in enumerate(self.waits):
            assert u not in self.live or why in ("empty", "full"), (u, why, f)
        return Outcome(
            max(self.clock, default=0), [fifo.fill() for fifo in self.fifos],
            [(u, f, why) for u, why, f in waiting], self.bursts, self.order,
        )  # fmt: skip

    def _go_on(self, u: int) -> bool:
        """Let a unit do what it can in this cycle; return whether it did anything."""
        if self.clock[u] > self.now:
            return False
        before = self._mark(u)
        try:
            next(self.units[u])
        except StopIteration:
            self.live.discard(u)
            for f in self.network.units[u].writes:
                self.fifos[f].closed = True
            return True
        return self._mark(u) != before

    def _mark(self, u: int) -> tuple[int, ...]:
        unit = self.network.units[u]
        counts = (*(len(self.fifos[f].taken) for f in unit.reads), *(len(self.fifos[f].put) for f in unit.writes))
        return self.clock[u], int(self.asked[u] is not None), *counts

    def _stuck(self) -> bool:
        """Return whether no later cycle brings anything."""
        if any(asked is not None for asked in self.asked) or any(self.clock[u] > self.now for u in self.live):
            return False
        for u in self.live:
            why, f = self.waits[u]
            for each in self.any_of[u] or (f,):
                fifo = self.fifos[each]
                if why == "empty" and len(fifo.put) > len(fifo.taken):
                    return False
                if why == "full" and len(fifo.put) - len(fifo.taken) < fifo.depth:
                    return False
        return self.chip.fifo.latency >= 0

    def _unit(self, u: int) -> Iterator[None]:
        yield from self._body(u, self.network.units[u].body, {})

    def _body(self, u: int, body: tuple[Instruction, ...], read: dict[int, int]) -> Iterator[None]:
        """Do one instruction after the other; tables are read in order, each from where it was left."""
        for item in body:
            if isinstance(item, Times):
                for _ in range(item.count if item.table is None else item.table[_next(item, read)]):
                    yield from self._body(u, item.body, read)
            elif isinstance(item, Choose):
                yield from self._body(u, item.bodies[item.table[_next(item, read)]], read)
            elif isinstance(item, Decide):
                yield from self._arrival(u, item, read)
            else:
                assert isinstance(item, Step)
                amount = item.table[_next(item, read)] if item.op is Op.WORK_TABLE else item.amount
                op = Op.WORK if item.op is Op.WORK_TABLE else item.op
                yield from self._step(u, (op, item.on, amount))

    def _arrival(self, u: int, item: Decide, read: dict[int, int]) -> Iterator[None]:
        """In each cycle look which channels are there; take the one that was there first, else wait a cycle."""
        left = list(range(len(item.channels)))
        if item.rows is not None:
            left = sorted(item.rows[_next(item, read)])
        while left:
            place = yield from self._first(u, [(k, item.channels[k]) for k in left], item.by_slot)
            if place < 0:
                return
            if len(item.channels) > 1 or not item.until_done:
                self.order[u].append(place)
            yield from self._body(u, item.bodies[place], read)
            if item.rows is not None:
                left.remove(place)
            elif not item.until_done:
                return

    def _first(self, u: int, candidates: list[tuple[int, int]], by_slot: bool) -> Generator[None, None, int]:
        while True:
            there = []
            for k, f in candidates:
                fifo = self.fifos[f]
                if by_slot:
                    i = len(fifo.put) - fifo.depth
                    since = 0 if i < 0 else fifo.taken[i] + fifo.response if i < len(fifo.taken) else None
                else:
                    i = len(fifo.taken)
                    since = fifo.put[i] + fifo.latency if i < len(fifo.put) else None
                if since is not None and since <= self.now:
                    there.append((since, k))
            if there:
                self._at_now(u)
                return min(there)[1]
            come = [f for _k, f in candidates if by_slot or not self._done(f)]
            if not come:
                self._at_now(u)
                return -1
            self.waits[u] = ("full" if by_slot else "empty", come[0])
            self.any_of[u] = tuple(come)
            yield
            self.any_of[u] = ()

    def _done(self, f: int) -> bool:
        return self.fifos[f].closed and len(self.fifos[f].put) == len(self.fifos[f].taken)

    def _step(self, u: int, step: tuple[Op, int, int]) -> Iterator[None]:
        op, on, amount = step
        match op:
            case Op.PEEK | Op.TAKE:
                yield from self._seen(u, on)
                if op is Op.TAKE:
                    self.fifos[on].taken.append(self.now)
            case Op.NEXT_OR_DONE:
                while not self._done(on):
                    if self._visible(on):
                        self._at_now(u)
                        break
                    self.waits[u] = ("empty", on)
                    yield
            case Op.SLOT | Op.ENQ:
                yield from self._room(u, on)
                if op is Op.ENQ:
                    self.fifos[on].put.append(self.now)
            case Op.PUT:
                self.fifos[on].put.append(self.now)
            case Op.WORK:
                self.clock[u] = max(self.clock[u], self.now) + amount
                while self.clock[u] > self.now:
                    yield
            case Op.REQUEST:
                self.asked[u] = Asked(on, self.now, amount)
                while self.asked[u] is not None:
                    self.waits[u] = ("memory", on)
                    yield
                self.clock[u] = self.now

    def _at_now(self, u: int) -> None:
        self.clock[u] = max(self.clock[u], self.now)

    def _visible(self, f: int) -> bool:
        fifo = self.fifos[f]
        k = len(fifo.taken)
        return k < len(fifo.put) and fifo.put[k] + fifo.latency <= self.now

    def _seen(self, u: int, f: int) -> Iterator[None]:
        while not self._visible(f):
            self.waits[u] = ("empty", f)
            yield
        self._at_now(u)

    def _room(self, u: int, f: int) -> Iterator[None]:
        fifo = self.fifos[f]
        i = len(fifo.put) - fifo.depth
        while i >= 0 and not (i < len(fifo.taken) and fifo.taken[i] + fifo.response <= self.now):
            self.waits[u] = ("full", f)
            yield
        self._at_now(u)

    def _dispatch(self) -> None:
        """Send this cycle's bursts of all ports, and hand over the tiles whose last answer is there."""
        memory = self.chip.memory
        number = 0
        for asked in sorted((a for a in self.asked if a is not None and a.since < self.now), key=lambda a: a.port):
            for _ in range(min(self.network.dispatch.get(asked.port, memory.dispatch), asked.bursts)):
                asked.answers.append(self._burst(number))
                asked.bursts -= 1
                number += 1
        self.start += number * (number + 1) // 2 if memory.interleave == "triangular" else number
        for u, tile in enumerate(self.asked):
            if tile is not None and not tile.bursts and max(tile.answers) <= self.now:
                self.asked[u] = None

    def _burst(self, number: int) -> int:
        memory = self.chip.memory
        step = number * (number + 1) // 2 if memory.interleave == "triangular" else number
        channel = (self.start + step) % memory.channels
        begin = max(self.now + 1, self.free[channel])
        earlier = self.starts[channel]
        if memory.outstanding and len(earlier) >= memory.outstanding:
            begin = max(begin, earlier[-memory.outstanding] + memory.startup + memory.latency + 2)
        earlier.append(begin)
        self.free[channel] = begin + memory.interval
        self.bursts += 1
        return begin + memory.startup + memory.latency + 2


def _decides(body: tuple[Instruction, ...]) -> bool:
    for item in body:
        inner = item.bodies if isinstance(item, Choose) else (item.body,) if isinstance(item, Times) else ()
        if isinstance(item, Decide) or any(map(_decides, inner)):
            return True
    return False


def _next(item: Instruction, read: dict[int, int]) -> int:
    at = read.get(id(item), 0)
    read[id(item)] = at + 1
    return at


def run_literally(network: Network) -> Outcome:
    """Run ``network`` cycle by cycle."""
    return Literal(network).run()


__all__ = ["Hardware", "Outcome", "run_literally"]
