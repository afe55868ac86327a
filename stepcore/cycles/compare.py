"""Two timed programs or compositions side by side, or one of them on two chips."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from stepcore.cycles.composed import ComposedFile, composed_json
from stepcore.cycles.report import TimedFile, as_json, percent
from stepcore.cycles.timed import busy
from stepcore.text.wording import one_line

Comparable: TypeAlias = TimedFile | ComposedFile

_CYCLES: Final = "cycles"


@dataclass(frozen=True, slots=True)
class _Side:
    """What is shown of one of the two: figures by name (None: not known), ``parts`` with the cycles of each.

    More of a figure is slower, larger or busier. ``reached`` is the cycle at which it stopped, None where it did not.
    """

    title: str
    figures: Mapping[str, float | None]
    longest: str
    parts: tuple[tuple[str, int], ...]
    reached: int | None


def compared(one: Comparable, other: Comparable) -> dict[str, Any]:
    """Return both rows, and how many times the second takes what the first takes; None where one has no figure."""
    first, second = _side(one), _side(other)
    names = {name.replace(" ", "_").replace("-", "_").lower(): name for name in first.figures}
    ratios = {key: _ratio(first.figures[name], second.figures[name]) for key, name in names.items()}
    rows = [composed_json(file) if isinstance(file, ComposedFile) else as_json(file) for file in (one, other)]
    return {"programs": rows, "ratios": ratios}


def side_by_side(one: Comparable, other: Comparable) -> Iterator[str]:
    """Yield the lines of a table; where both have the same units or lines, with the cycles of each."""
    first, second = _side(one), _side(other)
    titles = (first.title, second.title)
    if first.title == second.title:  # old and new are mostly one program in two files
        titles = (f"{one.path}::{first.title}", f"{other.path}::{second.title}")
    rows = [("", *titles, "ratio")]
    for name in first.figures:
        ratio = _ratio(first.figures[name], second.figures[name])
        shown = "-" if ratio is None else f"{ratio:.2f}x"
        rows.append((name, _shown(first, name), _shown(second, name), shown))
    rows.append(("takes longest" if _is_composed(one, other) else "bottleneck", first.longest, second.longest, ""))
    if [title for title, _ in first.parts] == [title for title, _ in second.parts]:
        rows.append(("cycles of" if _is_composed(one, other) else "busy cycles of", "", "", ""))
        for (title, taken), (_, more) in zip(first.parts, second.parts, strict=True):
            ratio = _ratio(taken, more)
            rows.append((f"  {title}", f"{taken:,}", f"{more:,}", "-" if ratio is None else f"{ratio:.2f}x"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        left, *figures = row
        cells = [left.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))]
        yield one_line("  ".join(cells).rstrip())


def _is_composed(*files: Comparable) -> bool:
    return any(isinstance(file, ComposedFile) for file in files)


def _side(file: Comparable) -> _Side:
    return _of_composition(file) if isinstance(file, ComposedFile) else _of_program(file)


def _of_program(file: TimedFile) -> _Side:
    timed = file.timed
    figures = {
        _CYCLES: timed.cycles,
        "off-chip bytes": timed.off_chip_bytes,
        "share of bandwidth": timed.bandwidth_share,
        "on-chip bytes": timed.on_chip,
        "FLOPs": timed.flops,
        "share of compute": timed.compute_share,
    }
    parts = tuple((file.title(u), busy(unit)) for u, unit in enumerate(timed.timing.units))
    reached = timed.timing.cycles if timed.timing.waiting else None
    return _Side(f"{timed.name} on {timed.hardware.name}", figures, file.title(timed.busiest), parts, reached)


def _of_composition(file: ComposedFile) -> _Side:
    timed = [line.file.timed for line in file.lines]
    total = sum(line.cycles for line in file.lines)
    computed = sum(line.compute_share * line.timing.cycles for line in timed)
    figures = {
        _CYCLES: file.cycles,
        "off-chip bytes": file.off_chip_bytes,
        "share of bandwidth": file.bandwidth_share,
        "on-chip bytes": file.on_chip,
        "FLOPs": sum(line.flops for line in timed),
        "share of compute": computed / total if total else 0.0,
    }
    parts = tuple((line.title, line.cycles) for line in file.lines)
    reached = None if file.stopped is None else total
    return _Side(f"{file.name} on {timed[0].hardware.name}", figures, file.longest.title, parts, reached)


def _ratio(first: float | None, second: float | None) -> float | None:
    return round(second / first, 4) if first and second is not None else None


def _shown(side: _Side, name: str) -> str:
    value = side.figures[name]
    if value is None:
        return f"stopped at {side.reached:,}" if side.reached is not None and name == _CYCLES else "-"
    return f"{value:,}" if isinstance(value, int) else percent(value)
