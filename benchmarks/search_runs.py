"""Single searches as data, for worker processes: which task, changed how, with which options; and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Final

from benchmarks.harness import ROOT
from stepcore.records import Record

WORKERS: Final = 2
SIGMA: Final = 0.5
SETS: Final = {name: ROOT / "benchmarks" / name for name in ("tasks", "tasks2", "tasks3")}
_VERIFY_SEEDS: Final = (4711, 4712, 4713)


class SearchRun(Record):
    """One search. ``noise`` is the draw of disturbed costs, ``disturbed`` the seed of names, order and distractors."""

    path: str
    candidates: int = 20_000
    seconds: float = 600.0  # candidates are the budget: other load on the machine must not decide
    seed: int = 0
    noise: int | None = None
    disturbed: int | None = None
    without: str = ""  # one of Features, a macro move, "flat costs", or nothing

    @property
    def task(self) -> str:
        """The name of the task."""
        return Path(self.path).name.split(".")[0]


class Found(Record):
    """What came of a search; ``right`` tells whether an accepted program also held on data of its own."""

    task: str
    solved: bool
    right: bool
    candidates: int
    cpu: float
    reason: str = ""


def search_all(runs: Sequence[SearchRun]) -> Iterator[tuple[SearchRun, Found]]:
    """Carry searches out on two worker processes and yield them in their order."""
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn"), initializer=_prepare) as pool:
        yield from zip(runs, pool.map(search, runs), strict=True)


def task_files(name: str) -> list[str]:
    """Return the paths of one set of tasks, in order."""
    return [str(path) for path in sorted(SETS[name].glob("*.step.yaml"))]


def halves() -> dict[str, list[str]]:
    """Return the halves of the second set, as its README lists them."""
    text = (SETS["tasks2"] / "README.md").read_text(encoding="utf-8")
    tuning, _, reporting = text.partition("## Tuning half")[2].partition("## Reporting half")
    return {
        title: [path for path in task_files("tasks2") if f"`{Path(path).name.split('.')[0]}`" in part]
        for title, part in (("tuning", tuning), ("reporting", reporting))
    }


def search(run: SearchRun) -> Found:
    """Carry one search out, and verify what it accepted once more."""
    from benchmarks.disturb import disturbed
    from stepagents.search.costs import CostModel
    from stepagents.search.options import Features
    from stepagents.search.proposer import SearchOptions, synthesize
    from stepcore.frontend.yaml.tasks import read_task

    task = read_task(_text(run.path), run.path)
    if run.disturbed is not None:
        task = disturbed(task, run.disturbed)
    costs = CostModel()
    if run.noise is not None:
        costs = costs.disturbed(SIGMA, run.noise)
    features = Features()
    if run.without == "flat costs":
        costs = costs.flat()
    elif run.without in {field.name for field in fields(Features)}:
        features = replace(features, **{run.without: False})
    elif run.without:
        costs = costs.without(run.without)
    start = process_time()
    found = synthesize(task, SearchOptions(run.seconds, run.candidates, run.seed, costs, features))
    cpu = process_time() - start
    right = found.solved and _holds(run, task, found.impl)
    return Found(run.task, found.solved, right, found.candidates, cpu, found.reason)


def _holds(run: SearchRun, task: object, impl: str) -> bool:
    """Verify on fresh seeds with the simulator; where the task was not changed, with the oracle of the tests, too."""
    from stepcore.check.programs import ImplChecker
    from stepcore.graph.task import TaskFile
    from stepcore.sim.functional import Session
    from stepcore.text.span import Embedded

    assert isinstance(task, TaskFile)
    assert task.spec is not None
    checked = ImplChecker(task).check(Embedded.whole(impl))
    if not all(Session(task.spec, seed=seed).verify(checked).accepted for seed in _VERIFY_SEEDS):
        return False
    return run.disturbed is not None or _holds_literally(run.path, impl)


def _holds_literally(path: str, impl: str) -> bool:
    """Run a program with the slow interpreter that shares no code with the library, in fp64."""
    sys.path.append(str(ROOT / "tests"))
    import torch

    from oracle import load_task, run_task

    result = run_task(load_task(path), impl, seed=_VERIFY_SEEDS[0], dtype=torch.float64)
    return result.shape_ok and result.matches and result.affine


@cache
def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def _prepare() -> None:
    """Import what every search needs, and keep torch on one thread: two processes have two cores."""
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
