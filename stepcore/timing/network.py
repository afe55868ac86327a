"""Units joined by channels: what an engine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from stepcore.timing.hardware import Hardware
from stepcore.timing.microcode import Instruction


@dataclass(frozen=True, slots=True)
class Channel:
    """A FIFO between two units: ``depth`` in tokens; ``latency`` and ``response`` in cycles, as of :class:`Fifos`."""

    name: str
    depth: int
    latency: int
    response: int


@dataclass(frozen=True, slots=True)
class Unit:
    """An operator, or an end of the program; ``regular`` where its outermost loop does the same in each round."""

    name: str
    body: tuple[Instruction, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    line: int | None = None


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
        self,
        name: str,
        body: Sequence[Instruction],
        reads: Sequence[int] = (),
        writes: Sequence[int] = (),
        line: int | None = None,
    ) -> int:
        """Add a unit; ``body`` is its whole run, loops over all tokens included."""
        self.units.append(Unit(name, tuple(body), tuple(reads), tuple(writes), line))
        return len(self.units) - 1
