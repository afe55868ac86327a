"""A run summed up: by group, by task, and pass@k."""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.report.runs import Attempt, BenchRun
from stepagents.report.stats import pass_at_k, powers, wilson
from stepcore.records import Record


class Totals(Record):
    """Sums over some tasks. All but ``tasks`` are means over the seeds, so that runs with more seeds compare.

    ``low`` and ``high`` are the 95 % Wilson interval of the share of tasks that are solved.
    """

    name: str
    tasks: int
    solved: float
    low: float
    high: float
    candidates: float
    input_tokens: float
    output_tokens: float
    cost: float
    seconds: float

    @property
    def share(self) -> float:
        """The share of tasks that are solved."""
        return self.solved / self.tasks if self.tasks else 0.0


class PassAtK(Record):
    """Mean of pass@k over the tasks that have at least k samples, with its 95 % Wilson interval."""

    k: int
    value: float
    low: float
    high: float
    tasks: int


def seeds(run: BenchRun) -> list[int]:
    """Return the seeds of a run."""
    return sorted({attempt.seed for attempt in run.attempts})


def by_group(run: BenchRun) -> list[Totals]:
    """Return the totals of each group of tasks, then those of all."""
    names = sorted({attempt.group for attempt in run.attempts})
    parts = [_totals(name, [item for item in run.attempts if item.group == name]) for name in names]
    return [*parts, overall(run)]


def overall(run: BenchRun) -> Totals:
    """Return the totals of all tasks."""
    return _totals("all", run.attempts)


def _totals(name: str, attempts: Sequence[Attempt]) -> Totals:
    """Sum up; a task that was not tried with every seed (of an interrupted run) counts by those with which it was."""
    rounds: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        rounds.setdefault(attempt.path, []).append(attempt)

    def mean(field: str) -> float:
        return float(sum(sum(getattr(item, field) for item in tries) / len(tries) for tries in rounds.values()))

    solved = mean("solved")
    low, high = wilson(solved / len(rounds) if rounds else 0.0, len(rounds))
    sums = {key: mean(key) for key in ("candidates", "input_tokens", "output_tokens", "cost", "seconds")}
    return Totals(name, len(rounds), solved, low, high, **sums)


def samples(run: BenchRun) -> dict[str, tuple[int, int]]:
    """Return for each task's path how many samples there are and how many were right.

    A sample is an answer of a model, or one search with its own seed.
    """
    found: dict[str, tuple[int, int]] = {}
    for attempt in run.attempts:
        count, right = found.get(attempt.path, (0, 0))
        new = (attempt.candidates, attempt.accepted) if run.of_a_model else (1, int(attempt.solved))
        found[attempt.path] = count + new[0], right + new[1]
    return found


def pass_table(run: BenchRun) -> list[PassAtK]:
    """Return pass@k for k = 1, 2, 4 ... up to the largest number of samples that a task has."""
    counts = list(samples(run).values())
    table = []
    for k in powers(max((count for count, _right in counts), default=0)):
        values = [pass_at_k(count, right, k) for count, right in counts if count >= k]
        value = sum(values) / len(values)
        table.append(PassAtK(k, value, *wilson(value, len(values)), len(values)))
    return table
