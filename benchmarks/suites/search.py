"""The built-in search: what it solves, in what time, and how that depends on data, costs, names and its own parts."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from time import perf_counter
from typing import Any, Final

from benchmarks.harness import BenchReport
from benchmarks.search_runs import Found, SearchRun, halves, search_all, task_files

DATA_SEEDS: Final = 20
DRAWS: Final = 8
# Moves made of several operators, and moves beyond the prototype's grammar: each is left out once.
MACROS: Final = (
    "AccumAll", "AccumOne", "ScanAll", "BufferizeAll", "Rebuffer", "stash", "Zip", "RepeatRef", "Partition",
)  # fmt: skip
# Candidates that a search may try in the comparisons: with ever more of them every variant solves everything.
_FEW: Final = 2000
_COLUMNS: Final = ("solved", "of", "median candidates", "worst CPU s", "unsolved")


def run(chosen: Sequence[str] = ()) -> list[BenchReport]:
    """Run the chosen measurements of :data:`PARTS`, all by default."""
    return [measure() for name, measure in PARTS.items() if not chosen or name in chosen]


def _tasks() -> BenchReport:
    report = _report("tasks", "the 26 published tasks", ("task", "solved", "candidates", "CPU s"))
    start = perf_counter()
    found = [one for _, one in search_all([SearchRun(path) for path in task_files("tasks")])]
    wall = perf_counter() - start
    report.rows = [[one.task, _verdict(one), str(one.candidates), f"{one.cpu:.3f}"] for one in found]
    times = [one.cpu for one in found]
    report.figures = {**_figures(found), "wall seconds": wall}
    report.goal("tasks solved", _right(found), 26, at_least=True)
    report.goal("median CPU time", statistics.median(times), 0.2, " s")
    report.goal("worst CPU time", max(times), 5, " s")
    report.goal("all tasks on two processes, their start included, wall clock", wall, 20, " s")
    return _checked(report, found)


def _repeated(name: str, title: str, what: str, changes: Sequence[dict[str, Any]]) -> BenchReport:
    """Run the 26 tasks once for each of ``changes``; for the renamings the second set, too."""
    paths = task_files("tasks") + (task_files("tasks2") if name == "names" else [])
    runs = [SearchRun(path, **change) for change in changes for path in paths]
    found = [one for _, one in search_all(runs)]
    report = _report(name, title, (what, *_COLUMNS))
    counts: list[int] = []
    for number, change in enumerate(changes):
        mine = found[number * len(paths) : (number + 1) * len(paths)]
        counts.append(_right(mine))
        report.rows.append([str(next(iter(change.values()))), str(counts[-1]), str(len(paths)), *_spread(mine)])
    report.figures = {"solved": counts, "of": len(paths), **_figures(found)}
    report.goal(f"least solved of {len(paths)}", min(counts), 25 if len(paths) == 26 else len(paths) - 1, at_least=True)
    return _checked(report, found)


def _sets() -> BenchReport:
    sets = {f"second set, {half} half": paths for half, paths in halves().items()}
    sets["third set"] = task_files("tasks3")
    report = _report("sets", "the sets of our own", ("set", *_COLUMNS))
    everything: list[Found] = []
    for title, paths in sets.items():
        found = [one for _, one in search_all([SearchRun(path) for path in paths])]
        everything += found
        report.rows.append([title, str(_right(found)), str(len(paths)), *_spread(found)])
        report.figures[title] = {**_figures(found), "of": len(paths)}
    return _checked(report, everything)


def _left_out() -> BenchReport:
    from stepagents.search.options import Features

    paths = task_files("tasks") + task_files("tasks2")
    report = _report("leave-out", f"each part left out, at {_FEW:,} candidates a task", ("left out", *_COLUMNS))
    names = ("", "flat costs", *(field.name for field in fields(Features)), *MACROS)
    runs = [SearchRun(path, candidates=_FEW, without=name) for name in names for path in paths]
    everything = [one for _, one in search_all(runs)]
    for number, name in enumerate(names):
        found = everything[number * len(paths) : (number + 1) * len(paths)]
        report.rows.append([name or "nothing", str(_right(found)), str(len(paths)), *_spread(found)])
        report.figures[name or "nothing"] = _figures(found)
    return _checked(report, everything)


def _report(name: str, title: str, columns: Sequence[str]) -> BenchReport:
    return BenchReport(f"search-{name}", f"Search: {title}", columns)


def _right(found: Iterable[Found]) -> int:
    return sum(one.solved and one.right for one in found)


def _verdict(found: Found) -> str:
    return "WRONG" if found.solved and not found.right else "yes" if found.solved else f"no: {found.reason}"


def _spread(found: Sequence[Found]) -> list[str]:
    missed = ", ".join(one.task for one in found if not (one.solved and one.right))
    median = statistics.median(one.candidates for one in found)
    worst = max(one.cpu for one in found)
    return [f"{median:g}", f"{worst:.2f}", missed if len(missed) < 120 else missed[:117] + "..."]


def _figures(found: Sequence[Found]) -> dict[str, Any]:
    return {
        "right": _right(found),
        "candidates": [one.candidates for one in found],
        "cpu": [round(one.cpu, 4) for one in found],
        "unsolved": [one.task for one in found if not one.solved],
    }


def _checked(report: BenchReport, found: Sequence[Found]) -> BenchReport:
    """Note how many accepted programs were wrong; every one is verified again on data that the search never saw."""
    wrong = sum(one.solved and not one.right for one in found)
    report.goal("wrong programs accepted", wrong, 0)
    return report


# In the order in which all of them are run.
PARTS: Final[Mapping[str, Callable[[], BenchReport]]] = {
    "tasks": _tasks,
    "seeds": partial(_repeated, "seeds", "20 data seeds", "seed", [{"seed": n} for n in range(DATA_SEEDS)]),
    "noise": partial(
        _repeated, "noise", "costs times lognormal noise, sigma 0.5", "draw", [{"noise": n} for n in range(DRAWS)]
    ),
    "names": partial(
        _repeated, "names", "renamed, shuffled, five distractors", "seed", [{"disturbed": n} for n in range(4)]
    ),
    "sets": _sets,
    "leave-out": _left_out,
}
