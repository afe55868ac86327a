"""What the measurements share: timing, tables, and the dated JSON files of results."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from stepcore.check.programs import Checked

ROOT = Path(__file__).resolve().parent.parent
TASKS = ROOT / "benchmarks" / "tasks"
# Seconds of one turn of `medians_in_turns`.
_BURST = 0.02


@dataclass
class BenchReport:
    """One table: ``rows`` hold text as shown, ``figures`` the numbers behind it, ``goals`` what was aimed at."""

    name: str
    title: str
    columns: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)
    goals: list[str] = field(default_factory=list)

    def show(self, console: Console) -> None:
        """Print the table, and below it the goals with what was reached."""
        table = Table(title=self.title, title_justify="left")
        for index, column in enumerate(self.columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for row in self.rows:
            table.add_row(*row)
        console.print(table)
        for goal in self.goals:
            console.print(f"  {goal}")

    def goal(self, text: str, reached: float, limit: float, unit: str = "", at_least: bool = False) -> None:
        """Note whether ``reached`` keeps ``limit``."""
        good = reached >= limit if at_least else reached <= limit
        bound = f"at least {limit:g}" if at_least else f"under {limit:g}"
        self.goals.append(f"{'met   ' if good else 'MISSED'}  {text}: {reached:.3g}{unit} ({bound}{unit})")


def median_seconds(function: Callable[[], object], budget: float = 0.5, warm: int = 2, least: int = 3) -> float:
    """Return the median time of one call; calls for about ``budget`` seconds after ``warm`` calls."""
    for _ in range(warm):
        function()
    times: list[float] = []
    end = perf_counter() + budget
    while len(times) < least or (perf_counter() < end and len(times) < 2000):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return statistics.median(times)


def medians_in_turns(*functions: Callable[[], object], budget: float = 1.0, least: int = 3) -> list[float]:
    """Return the median processor times of functions that run in turns, so that other load meets all alike.

    They have to work on this thread alone. Processor time, because a long call is interrupted by other processes more
    often than a short one: on a busy machine wall-clock ratios would flatter the shorter. A turn is a burst of calls
    of which the first does not count: it finds the caches as another function left them.
    """
    times: list[list[float]] = [[] for _ in functions]
    end = perf_counter() + budget
    while min(map(len, times)) < least or perf_counter() < end:
        for function, kept in zip(functions, times, strict=True):
            function()
            burst = perf_counter() + _BURST
            while True:
                start = thread_time()
                function()
                kept.append(thread_time() - start)
                if perf_counter() > burst:
                    break
    return [statistics.median(kept) for kept in times]


def checked_text(text: str, path: str) -> Checked:
    """Return the one program of a text of ours; without findings, else the measurement ends."""
    from stepcore.check.files import check_text  # most measurements are of other things

    (checked,) = check_text(text, path).programs
    if checked.diagnostics:
        raise SystemExit("\n".join(item.message for item in checked.diagnostics))
    return checked


def save(reports: Sequence[BenchReport], folder: Path) -> Path:
    """Write all figures to a dated file in ``folder`` and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    now = datetime.now(UTC)
    content = {
        "date": now.isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "reports": [asdict(report) for report in reports],
    }
    path = folder / f"{now:%Y-%m-%d-%H%M%S}-{'-'.join(report.name for report in reports)}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def milliseconds(seconds: float) -> str:
    """Return a time for a table."""
    return f"{seconds * 1e3:.3f}"
