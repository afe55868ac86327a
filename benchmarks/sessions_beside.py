"""``python -m benchmarks.sessions_beside CHECKOUT``: whole editing sessions with two checkouts' servers at once.

The same session of the same server varies by a factor of two on a machine that others share, and a round of
``side_by_side`` has one of each kind: too few for what takes a few milliseconds. Here one client has many short
sessions with both servers at once: each edit, question and save goes to one and, when it has answered, to the other,
which begins at the next. What the machine does meanwhile meets both alike. Each figure is the median of its sessions,
and the quickest session stands beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep
from typing import Final, TypeVar

from rich.console import Console

from benchmarks.harness import ROOT, TASKS, BenchReport, save
from benchmarks.lsp_client import ServerSession
from benchmarks.side_by_side import commit_of, compiled
from benchmarks.suites.editor import EDITS, EditorBench, broken_file, p95, push
from benchmarks.typing_session import typing

_LIMIT: Final = 1.05
_BREATH: Final = 0.004  # seconds, in which a server does what follows an answer before the other one is asked
_SHOWN: Final = 8  # figures that are printed, the worst first
_COLUMNS: Final = ("figure", "ours", "other", "ratio", "quickest ours", "quickest other", "ratio")
Figures = dict[str, float]
T = TypeVar("T")


def main() -> int:
    """Have the sessions and print how their figures compare; 1 where a median and a minimum are over the limit."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sessions_beside", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout, with a .venv of its own")
    parser.add_argument("--sessions", type=int, default=20, help="of each checkout, 20 by default")
    parser.add_argument("--json-dir", type=Path, default=ROOT / "benchmarks" / "results", metavar="FOLDER")
    options = parser.parse_args()
    other: Path = options.other.absolute()
    for checkout in (ROOT, other):
        compiled(checkout)
    ours: list[Figures] = []
    theirs: list[Figures] = []
    for number in range(options.sessions):
        pair = [(ROOT, ours), (other, theirs)]
        if number % 2:
            pair.reverse()  # who is asked first finds other caches than who is asked second
        with tempfile.TemporaryDirectory() as own, tempfile.TemporaryDirectory() as second:
            benches = [_bench(checkout, folder) for (checkout, _), folder in zip(pair, (own, second), strict=True)]
            for (_, measured), found in zip(pair, _sessions(*benches), strict=True):
                measured.append(found)
    console = Console()
    report = _compared(ours, theirs, (commit_of(ROOT), commit_of(other)))
    report.show(console)
    console.print(f"saved to {save([report], options.json_dir)}")
    return int(any("MISSED" in goal for goal in report.goals))


def _bench(checkout: Path, folder: str) -> EditorBench:
    server = (str(checkout / ".venv" / "bin" / "python"), "-m", "stepserver")
    return EditorBench(BenchReport("session", "", ()), Path(folder).resolve(), broken_file(1_000), server)


def _sessions(*benches: EditorBench) -> list[Figures]:
    """Have completion and hover, edits with processor time and memory, and the first save of each published task.

    Returns:
        Of each of the ``benches``, which have their sessions at once, the figures.
    """
    figures: list[Figures] = [{} for _ in benches]
    for method in ("completion", "hover"):
        with _open(benches) as sessions:
            asked = _in_turns([each.asks(session, method) for each, session in sessions])
        for found, times in zip(figures, asked, strict=True):
            for number, state in enumerate(("after an edit", "warm")):
                found.update(_spread(f"{method}, {state}", [both[number] for both in times]))
    with _open(benches) as sessions:
        used = [session.processor_seconds() for _, session in sessions]
        documents = [each.document() for each in benches]
        edits = [
            each.edit_times(session, typing(document, EDITS), document, push)
            for (each, session), document in zip(sessions, documents, strict=True)
        ]
        waited = _in_turns(edits)
        for found, waits, before, (_, session) in zip(figures, waited, used, sessions, strict=True):
            found.update(_spread("edit to findings", waits))
            found["edit to findings / processor"] = (session.processor_seconds() - before) / len(waits)
            found["edit to findings / memory"] = session.memory()
    with ExitStack() as stack:
        saving = [(each, stack.enter_context(each.started(trusted=True))) for each in benches]
        saves = _in_turns([_first_saves(each, session) for each, session in saving])
    for found, saved in zip(figures, saves, strict=True):
        found.update(saved)
    return figures


@contextmanager
def _open(benches: Iterable[EditorBench]) -> Iterator[list[tuple[EditorBench, ServerSession]]]:
    """Start the servers, each with its file open and all done that follows from that."""
    with ExitStack() as stack:
        sessions = [(each, stack.enter_context(each.started())) for each in benches]
        for each, session in sessions:
            each.opened(session)
        yield sessions


def _first_saves(bench: EditorBench, session: ServerSession) -> Iterator[tuple[str, float]]:
    for path in sorted(TASKS.glob("*.step.yaml")):
        (time,) = bench.saves(session, path, 1)
        yield f"first save / {path.name.partition('.')[0]}", time


def _in_turns(sides: Sequence[Iterator[T]]) -> list[list[T]]:
    """Return what each of the iterators, which are as long as each other, yields; whoever was last begins anew."""
    found: list[list[T]] = [[] for _ in sides]
    order = [*range(len(sides))]
    while True:
        for side in order:
            sleep(_BREATH)
            try:
                found[side].append(next(sides[side]))
            except StopIteration:
                return found
        order.reverse()


def _spread(what: str, times: Sequence[float]) -> Figures:
    return {f"{what} / p50": statistics.median(times), f"{what} / p95": p95(times)}


def _compared(ours: Sequence[Figures], theirs: Sequence[Figures], commits: tuple[str, str]) -> BenchReport:
    title = f"editing sessions: ours beside {commits[1]}, {len(ours)} of both at once (seconds, MB)"
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
