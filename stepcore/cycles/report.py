"""What a timed program is told as: rows of plain data, and a picture in text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from stepcore.cycles.network_of import ProgramNetwork
from stepcore.graph.typed import TypedGraph
from stepcore.text.span import SourceFile
from stepcore.timing.exact import Timing, UnitTime, Waiting

_BAR: Final = 40
# Working, waiting for memory, without room, without input.
_MARKS: Final = "█▓▒·"


@dataclass(frozen=True, slots=True)
class Timed:
    """One program on one chip. ``ring`` and ``cure`` (depths by channel) say why it stopped and what helps."""

    path: str
    name: str
    source: SourceFile
    graph: TypedGraph
    program: ProgramNetwork
    timing: Timing
    engine: str
    ring: tuple[Waiting, ...]
    cure: Mapping[int, int]

    @property
    def off_chip_bytes(self) -> int:
        """Bytes that were moved, whole bursts."""
        return self.timing.bursts * self.program.network.hardware.memory.burst

    @property
    def bandwidth_share(self) -> float:
        """The share of the memory's bandwidth that was used."""
        peak = self.program.network.hardware.memory.bandwidth
        return self.off_chip_bytes / (self.timing.cycles * peak) if self.timing.cycles else 0.0

    @property
    def busiest(self) -> int:
        """The unit that worked, or waited for memory, longest: the bottleneck."""
        return max(range(len(self.timing.units)), key=lambda u: _busy(self.timing.units[u]))

    def line(self, unit: int) -> int | None:
        """Return the line of a unit's operator, from 1; None for an end of the program."""
        node = self.program.units[unit]
        return None if node < 0 else self.source.line_col(self.graph.nodes[node].span.start)[0]


def _busy(unit: UnitTime) -> int:
    return unit.worked + unit.memory


def as_json(timed: Timed) -> dict[str, Any]:
    """Return the row of a program; ``cycles`` is None where it stopped."""
    timing, network = timed.timing, timed.program.network
    return {
        "path": timed.path,
        "program": timed.name,
        "hw": network.hardware.name,
        "engine": timed.engine,
        "cycles": None if timing.waiting else timing.cycles,
        "units": [
            {
                "operator": unit.name, "line": timed.line(u), "busy": unit.worked, "memory": unit.memory,
                "starved": unit.starved, "blocked": unit.blocked, "end": unit.clock, "bottleneck": u == timed.busiest,
            }
            for u, unit in enumerate(timing.units)
        ],
        "streams": [
            {"name": use.name, "depth": use.depth, "fill": use.fill, "tokens": use.taken} for use in timing.channels
        ],
        "memory": {"bursts": timing.bursts, "share_of_bandwidth": round(timed.bandwidth_share, 4)},
        "off_chip_bytes": timed.off_chip_bytes,
        "unknown_costs": timed.program.unknown,
        "stopped": _stop(timed) if timing.waiting else None,
    }  # fmt: skip


def _stop(timed: Timed) -> dict[str, Any]:
    network = timed.program.network
    return {
        "cycle": timed.timing.cycles,
        "ring": [
            {
                "operator": network.units[item.unit].name, "line": timed.line(item.unit),
                "stream": network.channels[item.channel].name, "is": item.reason,
                "taken": timed.timing.channels[item.channel].taken,
            }
            for item in timed.ring
        ],
        "cure": [{"stream": network.channels[f].name, "depth": depth} for f, depth in timed.cure.items()],
    }  # fmt: skip


def picture(timed: Timed) -> Iterator[str]:
    """Yield the lines of a picture: a bar for each unit, the bottleneck marked, and one for memory."""
    timing, network = timed.timing, timed.program.network
    about = "~" if timed.engine == "fluid" else ""
    what = "stopped at cycle" if timing.waiting else "cycles:"
    yield f"{timed.path}::{timed.name} on {network.hardware.name}, {what} {about}{timing.cycles:,}"
    names = [f"{unit.name}{_at(timed.line(u))}" for u, unit in enumerate(timing.units)]
    width = min(max(map(len, names), default=0), 48)
    for u, (name, unit) in enumerate(zip(names, timing.units, strict=True)):
        mark = "  <- bottleneck" if u == timed.busiest else ""
        yield f"  {name[:width]:<{width}}  {_bar(unit, timing.cycles)}  {_busy(unit):>12,}{mark}"
    kinds = ("working", "waiting for memory", "without room", "without input")
    yield "  " + ", ".join(f"{mark} {kind}" for mark, kind in zip(_MARKS, kinds, strict=True))
    yield f"  off chip: {timed.off_chip_bytes:,} bytes, {timed.bandwidth_share:.0%} of the memory's bandwidth"
    for name in dict.fromkeys(timed.program.unknown):
        yield f"  no cost is known for {name}: counted as 1 for each element, or not at all"
    if timing.waiting:
        yield from _told(timed)


def _told(timed: Timed) -> Iterator[str]:
    network = timed.program.network
    yield "  these wait for each other:"
    for item in timed.ring:
        use = timed.timing.channels[item.channel]
        held = f"full ({use.depth})" if item.reason == "full" else "empty"
        yield f"    {network.units[item.unit].name}{_at(timed.line(item.unit))}: {use.name or 'a stream'} is {held}"
    depths = " and ".join(
        f"depth {depth} of {network.channels[f].name or 'a stream'}" for f, depth in timed.cure.items()
    )
    yield f"  {depths} would let it run" if depths else "  no depth of a FIFO lets it run"


def _at(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


def _bar(unit: UnitTime, cycles: int) -> str:
    parts = (unit.worked, unit.memory, unit.blocked, max(cycles - unit.worked - unit.memory - unit.blocked, 0))
    bar, left, total = "", _BAR, max(cycles, 1)
    for mark, part in zip(_MARKS[:3], parts[:3], strict=True):
        length = min(round(part * _BAR / total), left)
        bar, left = bar + mark * length, left - length
    return bar + _MARKS[3] * left
