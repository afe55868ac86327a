"""The chip: what the timing engines know of it, with presets.

Bandwidths are per cycle and unit, latencies cycles, sizes bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Fifos:
    """Channels between units: ``depth`` in tokens; ``latency`` until a token is seen, ``response`` until a slot is."""

    depth: int = 2
    latency: int = 1
    response: int = 1


@dataclass(frozen=True, slots=True)
class Compute:
    """FLOPs per cycle of a unit, and the least number of cycles of a call."""

    bandwidth: int = 4096
    minimum: int = 1


@dataclass(frozen=True, slots=True)
class OnChip:
    """Bytes per cycle of a unit; bytes of the chip (0: no limit)."""

    bandwidth: int = 64
    capacity: int = 0


@dataclass(frozen=True, slots=True)
class OffChip:
    """The memory: ``dispatch`` bursts a cycle leave a port; implicit ends move small elements in blocks of bytes."""

    channels: int = 32
    burst: int = 64
    latency: int = 2
    interval: int = 2
    startup: int = 14
    outstanding: int = 0
    interleave: str = "round_robin"
    dispatch: int = 4
    block: int = 1024

    @property
    def answer(self) -> int:
        """Cycles from a burst's start on its channel to its answer."""
        return self.startup + self.latency + 2

    @property
    def bandwidth(self) -> int:
        """Bytes per cycle at most."""
        return self.channels * self.burst // self.interval


@dataclass(frozen=True, slots=True)
class Routers:
    """Units that route: cycles of a ``switch`` to a branch or lane."""

    switch: int = 1


@dataclass(frozen=True, slots=True)
class Hardware:
    """A chip; ``flops`` says what an element costs in functions whose cost differs from the common table.

    ``base`` is the preset from which a file differs, empty for a preset.
    """

    name: str = "default"
    fifo: Fifos = field(default_factory=Fifos)
    compute: Compute = field(default_factory=Compute)
    onchip: OnChip = field(default_factory=OnChip)
    memory: OffChip = field(default_factory=OffChip)
    unit: Routers = field(default_factory=Routers)
    flops: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    base: str = ""


INTERLEAVES: Final = ("round_robin", "triangular")
_DEFAULT: Final = Hardware()
PRESETS: Final[Mapping[str, Hardware]] = MappingProxyType(
    {
        "default": _DEFAULT,
        "validation": Hardware(
            "validation",
            fifo=replace(_DEFAULT.fifo, depth=1),
            onchip=replace(_DEFAULT.onchip, bandwidth=256),
            memory=replace(_DEFAULT.memory, channels=8, interleave="triangular"),
            flops=MappingProxyType({"silu": 1}),
        ),
        "paper": Hardware("paper", memory=replace(_DEFAULT.memory, interleave="triangular", dispatch=1)),
        "decode": Hardware(
            "decode",
            fifo=replace(_DEFAULT.fifo, depth=1),
            memory=replace(_DEFAULT.memory, interleave="triangular", dispatch=1),
        ),
    }
)
