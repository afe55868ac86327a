"""The keys of a chip, with their units and bounds, and its values by them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import MappingProxyType
from typing import Final

from stepcore.text.wording import clipped
from stepcore.timing.hardware import INTERLEAVES, PRESETS, Hardware


@dataclass(frozen=True, slots=True)
class ChipKey:
    """A key of a chip's file: its ``unit`` of measure, what it means, and which whole numbers it takes.

    ``choices`` are the texts that it takes instead, if there are any. The bounds keep the cycles of a run that can be
    timed below 2**63, and what a chip's description alone can take of memory small.
    """

    name: str
    unit: str
    meaning: str
    least: int = 1
    most: int = 1 << 20
    choices: tuple[str, ...] = ()

    @property
    def bounds(self) -> str:
        """Return which values there are, in words."""
        if self.choices:
            return " or ".join(self.choices)
        return f"a whole number from {self.least} to {self.most:,}"


KEYS: Final[Mapping[str, ChipKey]] = MappingProxyType(
    {
        key.name: key
        for key in (
            ChipKey("fifo.depth", "tokens", "what a FIFO between two units holds", most=1 << 16),
            ChipKey("fifo.latency", "cycles", "from giving a token until it can be seen", 0),
            ChipKey("fifo.response", "cycles", "from taking a token until its slot is free", 0),
            ChipKey("compute.bandwidth", "FLOPs per cycle", "what a unit computes", most=1 << 40),
            ChipKey("compute.minimum", "cycles", "a call without FLOPs", 0),
            ChipKey("onchip.bandwidth", "bytes per cycle", "what a unit moves to and from memory", most=1 << 40),
            ChipKey("onchip.capacity", "bytes", "memory on chip; 0: no limit", 0, 1 << 50),
            ChipKey("memory.channels", "", "channels of the off-chip memory", most=4096),
            ChipKey("memory.burst", "bytes", "what one request moves"),
            ChipKey("memory.latency", "cycles", "part of the time from a request's start to its answer", 0),
            ChipKey("memory.interval", "cycles", "between two requests of a channel"),
            ChipKey("memory.startup", "cycles", "part of the time from a request's start to its answer", 0),
            ChipKey("memory.outstanding", "requests", "of a channel that are under way at once; 0: no limit", 0),
            ChipKey("memory.interleave", "", "how requests are spread over the channels", choices=INTERLEAVES),
            ChipKey("memory.dispatch", "requests per cycle", "what leaves a load or store", most=4096),
            ChipKey("memory.block", "bytes", "in which small elements of inputs and results move", most=1 << 40),
            ChipKey("unit.switch", "cycles", "to route an element (Partition, Parallelize)", 0),
        )
    }
)
FLOPS: Final = ChipKey("flops.NAME", "FLOPs per element", "what the function NAME of torch costs", 0)


class HardwareError(ValueError):
    """A description of a chip that cannot be used.

    ``line`` is that of the key, from 1; 0 where there is none. ``path`` is the file, empty where none was read.
    ``instead`` is a word of that line and what to write there, where that is certain.
    """

    def __init__(self, message: str, line: int = 0, path: str = "", instead: tuple[str, str] | None = None) -> None:
        super().__init__(clipped(message, 500))
        self.line = line
        self.path = path
        self.instead = instead

    @property
    def place(self) -> str:
        """Return ``file:line``, as far as it is known."""
        return f"{self.path}:{self.line}" if self.path and self.line else self.path


def values_of(chip: Hardware) -> dict[str, int | str]:
    """Return the values of a chip by their dotted keys, those of ``flops`` left out."""
    found: dict[str, int | str] = {}
    for item in fields(chip):
        part = getattr(chip, item.name)
        if is_dataclass(part):
            found.update({f"{item.name}.{inner.name}": getattr(part, inner.name) for inner in fields(part)})
    return found


def all_values(chip: Hardware) -> dict[str, int | str]:
    """Return the values of a chip by their dotted keys, those of ``flops`` last."""
    return {**values_of(chip), **{f"flops.{function}": cost for function, cost in chip.flops.items()}}


def described(chip: Hardware) -> str:
    """Return a description of a chip that :func:`stepcore.chips.reader.read_hardware` reads, with all of its values."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in all_values(chip).items())


def differences(chip: Hardware) -> dict[str, tuple[int | str | None, int | str]]:
    """Return by key what the base of a chip has (None: nothing of its own) and what the chip has instead."""
    base = PRESETS[chip.base or chip.name]
    ours, theirs = all_values(chip), all_values(base)
    return {key: (theirs.get(key), value) for key, value in ours.items() if theirs.get(key) != value}
