"""Two timed programs, or one program on two chips, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from stepcore.cycles.report import TimedFile, as_json, percent
from stepcore.cycles.timed import Timed, busy

# What is compared, and how it is shown; more of it is slower, larger or busier.
_FIGURES: Final[Mapping[str, Callable[[Timed], float | None]]] = {
    "cycles": lambda timed: timed.cycles,
    "off-chip bytes": lambda timed: timed.off_chip_bytes,
    "share of bandwidth": lambda timed: timed.bandwidth_share,
    "on-chip bytes": lambda timed: timed.on_chip,
    "FLOPs": lambda timed: timed.flops,
    "share of compute": lambda timed: timed.compute_share,
}


def compared(one: TimedFile, other: TimedFile) -> dict[str, Any]:
    """Return both rows, and how many times the second takes what the first takes; None where one has no figure."""
    ratios = {name.replace(" ", "_").replace("-", "_").lower(): _ratio(one, other, of) for name, of in _FIGURES.items()}
    return {"programs": [as_json(one), as_json(other)], "ratios": ratios}


def side_by_side(one: TimedFile, other: TimedFile) -> Iterator[str]:
    """Yield the lines of a table; where both have the same units, with what each of them was busy."""
    pair = (one, other)
    rows = [("", *(f"{file.timed.name} on {file.timed.hardware.name}" for file in pair), "ratio")]
    for name, of in _FIGURES.items():
        ratio = _ratio(one, other, of)
        rows.append((name, *(_shown(file.timed, of) for file in pair), "-" if ratio is None else f"{ratio:.2f}x"))
    rows.append(("bottleneck", *(file.title(file.timed.busiest) for file in pair), ""))
    titles = [[file.title(u) for u in range(len(file.timed.timing.units))] for file in pair]
    if titles[0] == titles[1]:
        rows.append(("busy cycles of", "", "", ""))
        for u, title in enumerate(titles[0]):
            first, second = (busy(file.timed.timing.units[u]) for file in pair)
            ratio = second / first if first else None
            rows.append((f"  {title}", f"{first:,}", f"{second:,}", "-" if ratio is None else f"{ratio:.2f}x"))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row in rows:
        left, *figures = row
        cells = [left.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(figures, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _ratio(one: TimedFile, other: TimedFile, of: Callable[[Timed], float | None]) -> float | None:
    first, second = of(one.timed), of(other.timed)
    return round(second / first, 4) if first and second is not None else None


def _shown(timed: Timed, of: Callable[[Timed], float | None]) -> str:
    value = of(timed)
    if value is None:
        return f"stopped at {timed.timing.cycles:,}" if timed.timing.waiting and of is _FIGURES["cycles"] else "-"
    return f"{value:,}" if isinstance(value, int) else percent(value)
