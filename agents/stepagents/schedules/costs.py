"""What a schedule takes, in closed form: bytes over the memory's peak, FLOPs over units, bytes over a unit's port.

The rules are those of the timing chapter ("Units", "Work", "Off-chip memory"): a port asks for a tile's bursts, so
many a cycle, and waits for the last before the next tile; a call takes the longest of reading from memory, computing
and writing to memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from stepcore.cycles.bounds import COMPUTE
from stepcore.records import Record
from stepcore.timing.hardware import Hardware

CAPACITY: Final = 16 << 20  # bytes on chip where the chip says nothing
_LEAST: Final = 64  # FLOPs per cycle of a unit
ALONE: Final = 20  # cycles until a burst is back
MOST_BURSTS: Final = 16  # that a port asks for in a cycle


def alone_dispatch(chip: Hardware) -> int:
    """Return the bursts per cycle with which a port that is alone uses the memory's peak."""
    return min(chip.memory.channels // chip.memory.interval, MOST_BURSTS)


class LoadCost(Record):
    """So many ports, each with ``calls`` tiles of ``bursts``.

    ``dispatch`` are the bursts per cycle that each asks for, None for those that all ports share.
    """

    ports: int
    calls: int
    bursts: int
    dispatch: int | None = None

    def asked(self, shared: int) -> float:
        """Return in how many cycles one of its ports asks for a tile."""
        return self.bursts / (self.dispatch or shared)


class UnitCost(Record):
    """So many units, each with ``calls`` of ``flops``, bytes that it reads from memory (``reads``) or writes to it."""

    units: int
    calls: int
    flops: int
    reads: tuple[int, ...] = ()
    writes: int = 0


@dataclass(slots=True)
class ScheduleCosts:
    """The ports and units of a program, in the order in which data pass them; ``kept`` are bytes of its tiles."""

    loads: list[LoadCost] = field(default_factory=list)
    stores: list[LoadCost] = field(default_factory=list)
    units: list[UnitCost] = field(default_factory=list)
    kept: int = 0

    def speeds(self, times: int = 1) -> list[int]:
        """Return the FLOPs per cycle of each kind of unit, by its share of the work; together at most COMPUTE.

        The work of the first kind counts so many ``times``: that is for units all others wait for.
        """
        work = [each.units * each.calls * each.flops for each in self.units]
        work[:1] = [times * each for each in work[:1]]
        least = [_LEAST * each.units if each.flops else 0 for each in self.units]
        rest, total = max(COMPUTE - sum(least), 0), max(sum(work), 1)
        return [
            max((low + rest * share // total) // each.units, 1)
            for each, share, low in zip(self.units, work, least, strict=True)
        ]

    @property
    def flops(self) -> int:
        """FLOPs of all calls."""
        return sum(each.units * each.calls * each.flops for each in self.units)

    def bursts(self) -> int:
        """Return how many bursts move."""
        return sum(each.ports * each.calls * each.bursts for each in (*self.loads, *self.stores))

    def dispatch(self, chip: Hardware) -> int | None:
        """Return the bursts per cycle that each port asks for, so that all loads together can use the memory's peak."""
        ports = sum(each.ports for each in self.loads)
        wanted = min(-(-2 * chip.memory.channels // (chip.memory.interval * max(ports, 1))), MOST_BURSTS)
        return wanted if wanted > chip.memory.dispatch else None

    def cycles(self, chip: Hardware) -> int:
        """Return about how many cycles the program takes."""
        memory = chip.memory
        dispatch = self.dispatch(chip) or memory.dispatch
        peak = memory.channels / memory.interval
        ports = [each.calls * (each.asked(dispatch) + ALONE) for each in (*self.loads, *self.stores)]
        calls = [self._call(each, speed, chip) for each, speed in zip(self.units, self.speeds(), strict=True)]
        busy = [each.calls * call for each, call in zip(self.units, calls, strict=True)]
        ruling = max([self.bursts() / peak, *ports, *busy], default=0.0)
        first = sum(each.ports * each.bursts for each in self.loads) / peak + ALONE
        first = max(first, *(each.asked(dispatch) + ALONE for each in self.loads))
        last = max((each.ports * each.bursts / peak + each.asked(dispatch) for each in self.stores), default=0.0)
        once = sum(calls) - calls[busy.index(max(busy))]
        return round(ruling + first + once + last)

    def _call(self, unit: UnitCost, speed: int, chip: Hardware) -> float:
        onchip = chip.onchip.bandwidth
        reads = sum(-(-each // onchip) for each in unit.reads)
        compute = -(-unit.flops // speed) if unit.flops else chip.compute.minimum
        return max(reads, compute, -(-unit.writes // onchip))
