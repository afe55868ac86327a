"""What a timed program is told as: rows of plain data, and a picture in text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from stepcore.cycles.bounds import bound_of, shown
from stepcore.cycles.routes import SAYINGS
from stepcore.cycles.timed import Timed, busy
from stepcore.findings.diagnostics import Diagnostic
from stepcore.text.span import SourceFile, Span
from stepcore.text.wording import one_line
from stepcore.timing.exact import UnitTime

BAR: Final = 40  # characters
# Working, waiting for memory, without room, without input.
_MARKS: Final = "█▓▒·"


def _itself(span: Span) -> Span:
    return span


@dataclass(frozen=True, slots=True)
class TimedFile:
    """A timed program, and where it stands: ``source`` holds its operators at the ``place`` of their spans.

    ``found`` are the findings of timing, which are told beside the picture; None where nobody looked for them. Lines
    are counted behind the ``before`` first ones. ``better`` are the cycles on better chips; None where nobody
    asked for them.
    """

    path: str
    source: SourceFile
    timed: Timed
    found: tuple[Diagnostic, ...] | None = None
    place: Callable[[Span], Span | None] = _itself
    before: int = 0
    better: tuple[tuple[str, int], ...] | None = None

    def line(self, unit: int) -> int | None:
        """Return the line of a unit's operator, from 1; None for an end of the program."""
        node = self.timed.program.units[unit]
        span = None if node < 0 else self.place(self.timed.graph.nodes[node].span)
        line = 0 if span is None else self.source.line_col(span.start)[0] + 1 - self.before
        return line if line > 0 else None

    def title(self, unit: int) -> str:
        """Return the name of a unit's operator with its line, or that of an end."""
        return self.timed.timing.units[unit].name + _at(self.line(unit))

    @property
    def cures(self) -> list[tuple[str, int]]:
        """The streams whose FIFOs let a stopped program run, with the depths that they need."""
        return [(self.timed.called(f), depth) for f, depth in (self.timed.cure or {}).items()]

    def flops(self, unit: int) -> int:
        """Return the FLOPs of all calls of a unit."""
        return self.timed.program.flops.get(self.timed.program.units[unit], 0)


def as_json(file: TimedFile) -> dict[str, Any]:
    """Return the row of a program; ``cycles`` is None where it stopped."""
    timed = file.timed
    timing = timed.timing
    kept, capacity = timed.kept, timed.hardware.onchip.capacity
    return {
        "path": file.path,
        "program": timed.name,
        "hw": timed.hardware.name,
        "engine": timed.engine,
        "cycles": timed.cycles,
        "units": [
            {
                "operator": unit.name, "line": file.line(u), "busy": unit.worked, "memory": unit.memory,
                "starved": unit.starved, "blocked": unit.blocked, "end": unit.clock, "bottleneck": u == timed.busiest,
                "flops": file.flops(u),
                "utilization": _share(file.flops(u), timing.cycles * timed.peak(timed.program.units[u])),
            }
            for u, unit in enumerate(timing.units)
        ],
        "streams": [
            {"name": use.name, "depth": use.depth, "fill": use.fill, "tokens": use.taken} for use in timing.channels
        ],
        "memory": {
            "bursts": timing.bursts, "peak_bytes_per_cycle": timed.hardware.memory.bandwidth,
            "share_of_bandwidth": round(timed.bandwidth_share, 4),
        },
        "on_chip": {
            "bytes": None if kept.unknown else kept.bytes, "parameters": kept.parameters, "fifos": kept.fifos,
            "capacity": capacity or None,
        },
        "off_chip_bytes": timed.off_chip_bytes,
        "flops": timed.flops,
        "utilization": round(timed.compute_share, 4),
        "bound": _bound(timed),
        "unknown_costs": list(timed.program.doubtful),
        "routes": timed.program.routes,
        "stopped": _stop(file) if timing.waiting else None,
        **({} if file.better is None else {"what_if": [{"change": each, "cycles": at} for each, at in file.better]}),
    }  # fmt: skip


def _bound(timed: Timed) -> dict[str, Any] | None:
    bound = bound_of(timed)
    if bound is None:
        return None
    ratio = None if bound.ratio is None else round(bound.ratio, 4)
    return {"cycles": bound.cycles, "rules": bound.rules, "ratio": ratio}


def _share(part: int, whole: int) -> float:
    return round(part / whole, 4) if whole else 0.0


def as_brief(file: TimedFile) -> dict[str, Any]:
    """Return what stands beside a verdict, as plain data; ``cycles`` is None where the program stopped."""
    timed = file.timed
    return {
        "hw": timed.hardware.name,
        "engine": timed.engine,
        "cycles": timed.cycles,
        "bottleneck": file.title(timed.busiest),
        "off_chip_bytes": timed.off_chip_bytes,
        "share_of_bandwidth": round(timed.bandwidth_share, 4),
        "on_chip_bytes": timed.on_chip,
        "bound": _bound(timed),
        "stopped": _stop(file) if timed.timing.waiting else None,
        "problem": None,
    }


def _stop(file: TimedFile) -> dict[str, Any]:
    timed, network = file.timed, file.timed.program.network
    return {
        "cycle": timed.timing.cycles,
        "ring": [
            {
                "operator": network.units[item.unit].name, "line": file.line(item.unit),
                "stream": network.channels[item.channel].name, "is": item.reason,
                "taken": timed.timing.channels[item.channel].taken,
            }
            for item in timed.ring
        ],
        "cure": None if timed.cure is None else [
            {"stream": network.channels[f].name, "depth": depth} for f, depth in timed.cure.items()
        ],
    }  # fmt: skip


def summary(file: TimedFile) -> str:
    """Return one line: cycles, chip, bottleneck; or where it stops, and what cures that."""
    return one_line(_summed_up(file))


def _summed_up(file: TimedFile) -> str:
    timed, timing = file.timed, file.timed.timing
    about = "~" if timed.engine == "fluid" else ""
    if timing.waiting:
        return f"none on {timed.hardware.name}: stops at cycle {about}{timing.cycles:,}; {_cured(file)}"
    rules = f"{percent(busy(timing.units[timed.busiest]) / max(timing.cycles, 1))} of them {file.title(timed.busiest)}"
    return ", ".join(
        filter(None, (f"{about}{timing.cycles:,} on {timed.hardware.name}", shown(bound_of(timed)), rules))
    )


def picture(file: TimedFile) -> Iterator[str]:
    """Return the lines of a picture: a bar for each unit, the bottleneck marked, and one for memory."""
    return map(one_line, _drawn(file))


def _drawn(file: TimedFile) -> Iterator[str]:
    timed = file.timed
    timing = timed.timing
    about = "~" if timed.engine == "fluid" else ""
    what = "stopped at cycle" if timing.waiting else "cycles:"
    yield f"{file.path}::{timed.name} on {timed.hardware.name}, {what} {about}{timing.cycles:,}"
    names = [file.title(u) for u in range(len(timing.units))]
    width = min(max(map(len, names), default=0), 48)
    for u, (name, unit) in enumerate(zip(names, timing.units, strict=True)):
        mark = "  <- bottleneck" if u == timed.busiest else ""
        yield f"  {name[:width]:<{width}}  {_bar(unit, timing.cycles)}  {busy(unit):>12,}{mark}"
    kinds = ("working", "waiting for memory", "without room", "without input")
    yield "  " + ", ".join(f"{mark} {kind}" for mark, kind in zip(_MARKS, kinds, strict=True))
    yield f"  off chip: {moved_text(timed.off_chip_bytes, timed.bandwidth_share)}"
    yield f"  on chip: {_on_chip(timed)}"
    if timed.flops:
        yield f"  computed: {timed.flops:,} FLOPs, {percent(timed.compute_share)} of what its units could"
    routes = timed.program.routes
    if routes != "none" and not (routes == "run" and not timed.program.routed.rows and timed.program.opens):
        yield f"  {SAYINGS[routes]}"
    if timed.program.opens:
        how = "those of the run" if routes == "run" else "taken as large as they get: an upper bound"
        yield f"  sizes that only the data know are {how}"
    bound = bound_of(timed)
    if bound is not None:
        far = f", {shown(bound)}" if bound.ratio is not None else ""
        yield f"  at least {bound.cycles:,} cycle{'s' * (bound.cycles != 1)}{far}"
    yield from _better(file)
    if file.found is not None:
        return  # they tell the rest
    for name in timed.program.doubtful:
        yield f"  no cost is known for {name}: counted as 1 for each element, or not at all"
    if timing.waiting:
        yield from _told(file)


def _better(file: TimedFile) -> Iterator[str]:
    """Yield what better chips would bring."""
    if file.better == ():
        stops = bool(file.timed.timing.waiting)
        yield "  what if: " + ("nothing is tried on a program that stops" if stops else "no better chip ends in time")
    elif file.better:
        width = max(len(change) for change, _ in file.better)
        yield "  what if:"
        for change, cycles in file.better:
            yield f"    {change:<{width}}  {cycles:>12,}  {_change(file, cycles)}"


def _change(file: TimedFile, cycles: int) -> str:
    """Return by how much cycles differ from those of a run: ``-50%``, and ``-`` where it is less than half of one."""
    shown = f"{cycles / max(file.timed.timing.cycles, 1) - 1:+.0%}"
    return "-" if shown in ("+0%", "-0%") else shown


def percent(share: float) -> str:
    """Return a share as it is shown: small ones with a digit more."""
    return f"{share:.0%}" if share >= 0.1 or not share else f"{share:.1%}"


def memory_text(timed: Timed) -> str:
    """Return in one line what moves off chip and what stays on chip."""
    return f"off chip: {moved_text(timed.off_chip_bytes, timed.bandwidth_share)}; on chip: {_on_chip(timed)}"


def moved_text(moved: int, share: float) -> str:
    """Return how many bytes were moved, and which share of the memory's bandwidth that took."""
    return f"{moved:,} bytes, {percent(share)} of the memory's bandwidth"


def _on_chip(timed: Timed) -> str:
    kept, capacity = timed.kept, timed.hardware.onchip.capacity
    held = "not known" if kept.unknown else f"{kept.bytes:,} bytes"
    return f"{held}{f' of {capacity:,}' if capacity else ''}, and {kept.fifos:,} in FIFOs"


def _told(file: TimedFile) -> Iterator[str]:
    timed, network = file.timed, file.timed.program.network
    yield "  these wait for each other:"
    for item in timed.ring:
        use = timed.timing.channels[item.channel]
        held = f"full ({use.depth})" if item.reason == "full" else "empty"
        yield f"    {network.units[item.unit].name}{_at(file.line(item.unit))}: {timed.called(item.channel)} is {held}"
    yield f"  {_cured(file)}"


def _cured(file: TimedFile) -> str:
    if file.timed.cure is None:
        return "which depth of a FIFO lets it run would take too long to find; smaller sizes tell"
    depths = " and ".join(f"depth {depth} of {name}" for name, depth in file.cures)
    return f"{depths} would let it run" if depths else "no depth of a FIFO lets it run"


def _at(line: int | None) -> str:
    return "" if line is None else f" (line {line})"


def _bar(unit: UnitTime, cycles: int) -> str:
    parts = (unit.worked, unit.memory, unit.blocked, max(cycles - unit.worked - unit.memory - unit.blocked, 0))
    bar, left, total = "", BAR, max(cycles, 1)
    for mark, part in zip(_MARKS[:3], parts[:3], strict=True):
        length = min(round(part * BAR / total), left)
        bar, left = bar + mark * length, left - length
    return bar + _MARKS[3] * left
