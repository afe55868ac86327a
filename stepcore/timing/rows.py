"""The state of a run as rows of whole numbers, for :func:`stepcore.timing.units.run_units`."""

from __future__ import annotations

from dataclasses import fields
from typing import Final

from stepcore.timing import units as inner
from stepcore.timing.microcode import Code, Instruction, Op, Times
from stepcore.timing.network import Network

COMPILE_FROM: Final = 20_000  # numbers that the data decide: from there on machine code is worth its loading


def vars_of(holder: Rows | Code) -> list[tuple[str, list[int]]]:
    """Return the rows of ``holder`` by name."""
    names = [item.name for item in fields(holder)] if isinstance(holder, Code) else list(vars(holder))
    return [(name, row) for name in names if isinstance(row := getattr(holder, name), list)]


class Rows:
    """Code, units, channels and the queue of units that can run; see :func:`run_units` for what the rows hold."""

    def __init__(self, network: Network) -> None:
        count, channels = len(network.units), len(network.channels)
        self.code = Code.empty()
        self.place = [self.code.add(unit.body) for unit in network.units]
        self.clock, self.height = [0] * count, [-1] * count
        self.rounds, self.entered = [0] * (count * inner.STACK), [0] * (count * inner.STACK)
        self.waits, self.waits_on = [inner.RUNNING] * count, [-1] * count
        self.starved, self.blocked, self.worked = [0] * count, [0] * count, [0] * count
        self.depth = [channel.depth for channel in network.channels]
        self.latency = [channel.latency for channel in network.channels]
        self.response = [channel.response for channel in network.channels]
        self.offset = [sum(self.depth[:f]) for f in range(channels)]
        self.put, self.taken = [0] * channels, [0] * channels
        self.fill, self.oldest = [0] * channels, [0] * channels
        self.visible, self.freed = [0] * sum(self.depth), [0] * sum(self.depth)
        self.producer, self.consumer = _ends(network)
        self.closed = [0] * channels
        self.port, self.cycle, self.bursts = [0] * count, [0] * count, [0] * count
        self.queue, self.where = list(range(count)), [0, count]
        self.memory_units = [u for u, unit in enumerate(network.units) if _asks(unit.body)]
        self.beacon = _beacon(self.code)
        self._run = inner.run_units
        # What the data decide does not recur, so all that counts there is how quickly instructions run.
        self.is_regular = not self.code.tables
        if len(self.code.tables) >= COMPILE_FROM:
            self._compile()

    def _compile(self) -> None:
        """Make the rows arrays and the inner loop machine code, where numba is installed."""
        compiled = inner.compiled()
        if compiled is None:
            return
        from stepcore.timing.windows import as_array

        for holder in (self, self.code):
            for name, row in vars_of(holder):
                setattr(holder, name, as_array(row))
        self._run = compiled

    def advance(self, steps: int) -> int:
        """Run until all units wait, or the beacon comes by; see :func:`run_units`."""
        code = self.code
        beacon = self.beacon if self.is_regular and not self.uses_memory else -1
        return self._run(
            (code.op, code.first, code.second, code.cursor, code.tables),
            (self.place, self.clock, self.height, self.rounds, self.entered, self.waits, self.waits_on),
            (self.starved, self.blocked, self.worked),
            (self.depth, self.latency, self.response, self.offset, self.put, self.taken, self.fill, self.oldest),
            (self.visible, self.freed),
            (self.producer, self.consumer, self.closed),
            (self.port, self.cycle, self.bursts),
            (self.queue, self.where),
            (beacon, len(self.place)),
            steps,
        )

    @property
    def uses_memory(self) -> bool:
        """True as long as a unit is there that may ask memory for something."""
        return any(self.waits[u] != inner.ENDED for u in self.memory_units)

    def wake(self, unit: int, clock: int) -> None:
        """Let a unit that waited for memory run again, from ``clock`` on."""
        self.clock[unit] = clock
        self.waits[unit] = inner.RUNNING
        self.queue[(self.where[0] + self.where[1]) % len(self.queue)] = unit
        self.where[1] += 1


def _ends(network: Network) -> tuple[list[int], list[int]]:
    producer, consumer = [-1] * len(network.channels), [-1] * len(network.channels)
    for u, unit in enumerate(network.units):
        for f in unit.writes:
            producer[f] = u
        for f in unit.reads:
            consumer[f] = u
    if -1 in producer or -1 in consumer:
        raise ValueError("a channel has no producer or no consumer")
    return producer, consumer


def _asks(body: tuple[Instruction, ...]) -> bool:
    return any(_asks(item.body) if isinstance(item, Times) else item.op is Op.REQUEST for item in body)


def _beacon(code: Code) -> int:
    """Return where the loop begins that runs most often: a state can recur where it comes round."""
    loops = [at for at, op in enumerate(code.op) if op == Op.LOOP]
    return max(loops, key=lambda at: code.first[at]) + 1 if loops else -1
