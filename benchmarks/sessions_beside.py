"""``python -m benchmarks.sessions_beside CHECKOUT``: whole editing sessions with two checkouts' servers, in turns.

The same session of the same server varies by a factor of two on a machine that others share, and a round of
``side_by_side`` has one of each kind: too few for what takes a few milliseconds. Here one client has many short
sessions, ours and theirs in turns; each figure is the median of its sessions, and the quickest session stands beside
it: what the code itself costs shows there, what the machine did meanwhile does not.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from benchmarks.harness import ROOT, TASKS, BenchReport, save
from benchmarks.side_by_side import commit_of, compiled
from benchmarks.suites.editor import EDITS, EditorBench, broken_file, p95, push
from benchmarks.typing_session import typing

_LIMIT: Final = 1.05
_SHOWN: Final = 8  # figures that are printed, the worst first
_COLUMNS: Final = ("figure", "ours", "other", "ratio", "quickest ours", "quickest other", "ratio")
Figures = dict[str, float]


def main() -> int:
    """Have the sessions and print how their figures compare; 1 where a median and a minimum are over the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions_beside", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout, with a .venv of its own")
    parser.add_argument("--sessions", type=int, default=20, help="of each checkout, 20 by default")
    parser.add_argument("--json-dir", type=Path, default=ROOT / "benchmarks" / "results", metavar="FOLDER")
    options = parser.parse_args()
    other: Path = options.other.absolute()
    measured: dict[Path, list[Figures]] = {ROOT: [], other: []}
    for checkout in measured:
        compiled(checkout)
    for number in range(options.sessions):
        for checkout in (ROOT, other) if number % 2 == 0 else (other, ROOT):
            with tempfile.TemporaryDirectory() as name:
                measured[checkout].append(_session(checkout, Path(name).resolve()))
    console = Console()
    report = _compared(measured[ROOT], measured[other], (commit_of(ROOT), commit_of(other)))
    report.show(console)
    console.print(f"saved to {save([report], options.json_dir)}")
    return int(any("MISSED" in goal for goal in report.goals))


def _session(checkout: Path, folder: Path) -> Figures:
    """Start, edits, completion and hover, processor time and memory; and the first save of each published task."""
    server = (str(checkout / ".venv" / "bin" / "python"), "-m", "stepserver")
    bench = EditorBench(BenchReport("session", "", ()), folder, broken_file(1_000), server)
    figures: Figures = {}
    for method in ("completion", "hover"):
        with bench.started() as session:
            bench.opened(session)
            after, warm = bench.asked(session, method)
        figures |= _spread(f"{method}, after an edit", after) | _spread(f"{method}, warm", warm)
    with bench.started() as session:
        bench.opened(session)
        document = bench.document()
        *waits, processor = bench.type_edits(session, typing(document, EDITS), document, push)
        memory = session.memory()
    figures |= _spread("edit to findings", waits)
    figures |= {"edit to findings / processor": processor, "edit to findings / memory": memory}
    with bench.started(trusted=True) as session:
        for path in sorted(TASKS.glob("*.step.yaml")):
            (figures[f"first save / {path.name.partition('.')[0]}"],) = bench.saves(session, path, 1)
    return figures


def _spread(what: str, times: Sequence[float]) -> Figures:
    return {f"{what} / p50": statistics.median(times), f"{what} / p95": p95(times)}


def _compared(ours: Sequence[Figures], theirs: Sequence[Figures], commits: tuple[str, str]) -> BenchReport:
    title = f"editing sessions: ours beside {commits[1]}, {len(ours)} of each in turns (seconds, MB)"
    report = BenchReport("sessions-beside", title, _COLUMNS)
    found: dict[str, Mapping[str, float]] = {}
    for name in ours[0]:
        mine, other = ([figures[name] for figures in sessions] for sessions in (ours, theirs))
        middle, least = statistics.median(mine) / statistics.median(other), min(mine) / min(other)
        found[name] = {
            "ours": statistics.median(mine), "other": statistics.median(other), "ratio": middle,
            "quickest ours": min(mine), "quickest other": min(other), "ratio of the quickest": least,
        }  # fmt: skip
        if min(middle, least) > _LIMIT:  # one alone is chance more often than not
            report.goal(f"{name}, median and quickest session", min(middle, least), _LIMIT)
    for name in sorted(found, key=lambda name: -found[name]["ratio"])[:_SHOWN]:
        report.rows.append([name, *(f"{value:.4g}" for value in found[name].values())])
    for column in ("ratio", "ratio of the quickest"):
        whole = statistics.geometric_mean([values[column] for values in found.values()])
        report.goal(f"geometric mean, {column}", whole, _LIMIT)
    report.figures = {"commits": list(commits), "sessions": len(ours), "figures": found}
    return report


if __name__ == "__main__":
    sys.exit(main())
