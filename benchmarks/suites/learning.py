"""Learning: how many held-out tasks the search solves with few candidates, before and after it earned experience.

Groups of tasks (the name up to the first underscore; related groups count as one, see ``_FAMILIES``) are dealt into
folds. For each fold the loop of `stepsmith improve` earns its experience on the other folds, under the same small
budget and from nothing; then the tasks of the fold are tried. Every seed deals the folds anew, renames and shuffles the
functions of all tasks, adds distractors, and draws other data. Tasks are the units of all intervals: seeds are averaged
per task first.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from statistics import fmean
from threading import Event
from typing import Any, Final

from benchmarks.disturb import disturbed
from benchmarks.harness import ROOT, BenchReport
from stepagents.experience.strata import Selection, selections
from stepagents.improve import Improvement, LoopOptions
from stepagents.prior import search_costs
from stepagents.report.stats import wilson
from stepagents.sampling import Order, Sampled
from stepagents.search.costs import CostModel
from stepagents.search.proposer import SearchOptions, synthesize, use_one_thread
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile
from stepcore.jobdata.writing import Experience
from stepcore.printing.task import task_to_yaml

FOLDERS: Final = ("tasks", "tasks2")
BUDGETS: Final = (30, 100)  # candidates for one held-out task
SEEDS: Final = 3
FOLDS: Final = 4
GRANULARITY: Final = 3
DISTRACTORS: Final = 5
STARTS: Final[dict[str, Callable[[], CostModel]]] = {"uniform": lambda: CostModel().flat(), "hand-set": CostModel}
_SECONDS: Final = 60.0  # for one task, far above what the candidates need
_DRAWS: Final = 10_000
# Groups that teach each other directly: they are held out together.
_FAMILIES: Final = {
    "attn": "attention", "gemm": "matmul", "bmm": "matmul", "index": "routing", "expert": "routing", "etoe": "routing",
    "route": "routing",
}  # fmt: skip


class Searching:
    """The search in this process as a sampler; the same question is answered from memory."""

    name: Final = "search"

    def __init__(self, tasks: dict[str, TaskFile], start: CostModel) -> None:
        self._tasks = tasks
        self._start = start
        self._known: dict[tuple[str, str, int], tuple[int, str]] = {}  # candidates spent, program
        self.candidates = 0

    def sample(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience] = (),
        *,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[Sampled]:
        """Search every task, with what the demonstrations teach."""
        costs = search_costs(demonstrations, self._start)
        key = json.dumps(costs.as_json())
        for order in orders:
            spent, impl = self._search(order, costs, key)
            solved = bool(impl) and spent <= order.samples
            count = min(spent, order.samples)
            solutions = [impl] if solved else []
            yield Sampled(order.task, order.path, self.name, solutions, answers=count, accepted=int(solved))

    def _search(self, order: Order, costs: CostModel, key: str) -> tuple[int, str]:
        """Return the candidates that were spent, and the solution; the largest budget is tried at once."""
        known = self._known.get((order.task, key, order.seed))
        if known is None:
            options = SearchOptions(_SECONDS, max(order.samples, *BUDGETS), order.seed, costs)
            outcome = synthesize(self._tasks[order.task], options)
            self.candidates += outcome.candidates
            known = self._known[order.task, key, order.seed] = (outcome.candidates, outcome.impl)
        return known


def run(seeds: int = SEEDS) -> list[BenchReport]:
    """Measure all starts and seeds, two processes at a time, and return one table for each start."""
    jobs = [(start, seed) for start in STARTS for seed in range(seeds)]
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        results = list(pool.map(_measure, *zip(*jobs, strict=True)))
    return [
        _report(start, [result for job, result in zip(jobs, results, strict=True) if job[0] == start])
        for start in STARTS
    ]


def _measure(start: str, seed: int) -> dict[str, dict[str, bool]]:
    """Return for each way to choose experience and each budget which tasks were solved, every task held out once."""
    use_one_thread()
    tasks = _tasks(seed)
    search = Searching(tasks, STARTS[start]())
    results: dict[str, dict[str, bool]] = {}
    for number, held_out in enumerate(_folds(tasks, seed)):
        training = [name for name in tasks if name not in held_out]
        for selection in Selection:
            loop = Improvement(
                _orders(tasks, training, seed, max(BUDGETS)), [], search, LoopOptions(GRANULARITY, selection)
            )
            for _event in loop.run():
                pass
            for budget in BUDGETS:
                for label, plan in _plans(loop.demonstrations, selection, budget).items():
                    solved = _try(search, _orders(tasks, held_out, seed, budget), plan)
                    results.setdefault(label, {}).update(solved)
            taught = {name: True for name in training if any(e.task == name for e in loop.demonstrations)}
            results.setdefault(f"earned in training, {selection.value}", {}).update(
                {f"{number} {name}": name in taught for name in training}
            )
    return results


def _plans(earned: Sequence[Experience], selection: Selection, budget: int) -> dict[str, list[tuple[Any, int]]]:
    """Return ways to spend a budget on a held-out task: demonstrations and candidates, one after the other."""
    chosen = selections(earned, GRANULARITY, selection)
    share = budget // len(chosen)
    if selection is not Selection.ADAPTIVE:
        return {f"{selection.value} @{budget}": [(chosen[0], budget)]}
    return {
        f"adaptive, budget split over its stages @{budget}": [(d, share) for d in chosen],
        f"adaptive loop, hardest stratum only @{budget}": [(chosen[0], budget)],
        f"adaptive loop, all it earned @{budget}": [(chosen[-1], budget)],
    }


def _try(search: Searching, orders: Sequence[Order], plan: Sequence[tuple[Any, int]]) -> dict[str, bool]:
    solved = dict.fromkeys((order.task for order in orders), False)
    for demonstrations, samples in plan:
        left = [
            Order(order.task, order.path, order.text, samples, order.seconds, order.seed)
            for order in orders
            if not solved[order.task]
        ]
        for sampled in search.sample(left, demonstrations):
            solved[sampled.task] = sampled.solved
    return solved


def _tasks(seed: int) -> dict[str, TaskFile]:
    """Return all tasks by name, disturbed by ``seed``, as they are read from text that holds no answer."""
    tasks: dict[str, TaskFile] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / "benchmarks" / folder).glob("*.step.yaml")):
            task = disturbed(read_task(path.read_text(encoding="utf-8"), path.name), seed, DISTRACTORS)
            assert task.spec is not None
            text = task_to_yaml(task.spec, None, {"test_name": task.name})
            tasks[task.name] = read_task(text, path.name)
    return tasks


def _orders(tasks: dict[str, TaskFile], names: Sequence[str], seed: int, samples: int) -> list[Order]:
    return [Order(name, name, tasks[name].source.text, samples, _SECONDS, 1000 * seed) for name in names]


def _folds(tasks: dict[str, TaskFile], seed: int) -> list[list[str]]:
    """Deal the groups into folds of about equal size, the largest groups first."""
    groups: dict[str, list[str]] = {}
    for name in tasks:
        group = name.split("_", 1)[0]
        groups.setdefault(_FAMILIES.get(group, group), []).append(name)
    order = sorted(groups)
    random.Random(seed).shuffle(order)
    folds: list[list[str]] = [[] for _ in range(FOLDS)]
    for group in sorted(order, key=lambda g: -len(groups[g])):
        min(folds, key=len).extend(groups[group])
    return folds


def _report(start: str, runs: Sequence[dict[str, dict[str, bool]]]) -> BenchReport:
    title = f"Held-out tasks solved with few candidates, starting from {start} costs ({len(runs)} seeds)"
    columns = (
        "experience used @ candidates",
        "each seed",
        "share %",
        "95 % interval",
        "gain over none",
        "95 % interval",
    )
    report = BenchReport(f"learning-{start}", title, columns)
    for label in runs[0]:
        shares = {name: fmean(float(run[label].get(name, False)) for run in runs) for name in runs[0][label]}
        each = [sum(run[label].values()) for run in runs]
        mean = fmean(shares.values())
        # Every task is in the training part of all folds but one.
        low, high = wilson(mean, len(shares) if "@" in label else len(shares) // (FOLDS - 1))
        figures: dict[str, Any] = {"tasks": len(shares), "solved": each, "share": mean, "interval": [low, high]}
        row = [label, " ".join(map(str, each)) + f" of {len(shares)}", f"{100 * mean:.1f}", _interval(low, high)]
        base = f"none @{label.rpartition('@')[2]}"
        if "@" in label and base in runs[0] and base != label:
            before = {name: fmean(float(run[base][name]) for run in runs) for name in shares}
            gains = [shares[name] - before[name] for name in shares]
            low, high = _bootstrap(gains)
            figures |= {"gain": fmean(gains), "gain_interval": [low, high]}
            row += [f"{100 * fmean(gains):+.1f}", _interval(low, high)]
        report.rows.append([*row, *[""] * (len(columns) - len(row))])
        report.figures[label] = {**figures, "by_task": shares if "@" in label else {}}
    report.figures["setting"] = {
        "budgets": BUDGETS, "folds": FOLDS, "granularity": GRANULARITY, "distractors": DISTRACTORS, "seeds": len(runs),
    }  # fmt: skip
    return report


def _bootstrap(values: Sequence[float]) -> tuple[float, float]:
    """Return the 95 % percentile interval of the mean, by resampling tasks."""
    draw = random.Random(0)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(_DRAWS))
    return means[round(0.025 * _DRAWS)], means[round(0.975 * _DRAWS) - 1]


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.1f} .. {100 * high:.1f}"
