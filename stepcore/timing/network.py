"""Units joined by channels: what an engine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stepcore.timing.hardware import Hardware
from stepcore.timing.microcode import MANY, Instruction, counts_of


@dataclass(frozen=True, slots=True)
class Channel:
    """A FIFO between two units: ``depth`` in tokens; ``latency`` and ``response`` in cycles, as of :class:`Fifos`."""

    name: str
    depth: int
    latency: int
    response: int


@dataclass(frozen=True, slots=True)
class Unit:
    """An operator, or an end of the program: what it does in a whole run, and which channels it reads and writes."""

    name: str
    body: tuple[Instruction, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What happens in a whole run, at most: ``tokens`` of each channel, ``decisions`` of each unit by arrival.

    ``deciders`` are the units that go by arrival; without any, these are the numbers of the run.
    """

    tokens: list[int]
    deciders: list[int]
    decisions: list[int]


@dataclass(slots=True)
class Network:
    """The units in program order, and their channels; ``dispatch`` are rates of ports of their own, in bursts/cycle."""

    hardware: Hardware
    units: list[Unit] = field(default_factory=list)
    channels: list[Channel] = field(default_factory=list)
    dispatch: dict[int, int] = field(default_factory=dict)

    def channel(
        self, name: str, depth: int | None = None, *, latency: int | None = None, response: int | None = None
    ) -> int:
        """Add a channel; what is not given is the chip's."""
        fifo = self.hardware.fifo
        self.channels.append(
            Channel(
                name,
                fifo.depth if depth is None else depth,
                fifo.latency if latency is None else latency,
                fifo.response if response is None else response,
            )
        )
        return len(self.channels) - 1

    def unit(
        self, name: str, body: Sequence[Instruction], reads: Sequence[int] = (), writes: Sequence[int] = ()
    ) -> None:
        """Add a unit; ``body`` is its whole run, loops over all tokens included."""
        self.units.append(Unit(name, tuple(body), tuple(reads), tuple(writes)))

    def traffic(self) -> Traffic:
        """Count what happens in a whole run: a walk through the programs of all units."""
        tokens = [MANY] * len(self.channels)
        while True:
            counts = [counts_of(unit.body, tokens) for unit in self.units]
            before, tokens = tokens, [0] * len(self.channels)
            for found in counts:
                for channel, count in found.puts.items():
                    tokens[channel] = min(tokens[channel] + count, before[channel])
            deciders = [number for number, found in enumerate(counts) if found.decides]
            if tokens == before or not deciders:
                return Traffic(tokens, deciders, [found.decisions for found in counts])

    def slots(self, traffic: Traffic | None = None) -> int:
        """Return how many slots of FIFOs can be in use in a run, all together: no more than tokens pass."""
        tokens = (traffic or self.traffic()).tokens
        return sum(min(item.depth, count) for item, count in zip(self.channels, tokens, strict=True))

    def ends(self) -> tuple[list[int], list[int]]:
        """Return the producers and the consumers of all channels.

        Raises:
            ValueError: a channel has none.
        """
        producers, consumers = [-1] * len(self.channels), [-1] * len(self.channels)
        for number, unit in enumerate(self.units):
            for channel in unit.writes:
                producers[channel] = number
            for channel in unit.reads:
                consumers[channel] = number
        if -1 in producers or -1 in consumers:
            raise ValueError("a channel has no producer or no consumer")
        return producers, consumers
