"""Running a proposer over many tasks, on a pool of worker processes. No torch here."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from stepcore.cli.files import Unusable, read_file
from stepcore.cli.targets import Target, find_targets, where
from stepcore.jobs import Job, JobCancelled, JobError, Limits, Pool
from stepcore.task import task_name

COMMAND: Final = (sys.executable, "-P", "-m", "stepagents.worker")
WORKERS: Final = 2
_GRACE: Final = 10.0  # seconds that a search has to end by itself before its worker is killed
_UNSOLVED: Final = frozenset({"STEP404", "STEP405", "STEP406", "STEP408", "STEP409"})


@dataclass(slots=True)
class Row:
    """What came of one task. ``problem`` says why a file could not be used; ``reason`` why nothing was found."""

    task: str
    path: str
    solved: bool = False
    impl: str = ""
    proposer: str = "search"
    candidates: int = 0
    seconds: float = 0.0
    tokens: int = 0
    reason: str = ""
    problem: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the row as the documented JSON object."""
        keys = ("task", "path", "solved", "impl", "proposer", "candidates", "seconds", "tokens", "reason")
        found = {key: getattr(self, key) for key in keys}
        found["reason"] = self.problem or self.reason
        return found


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """Budgets of one task, and the seed of the search."""

    seconds: float = 60.0
    candidates: int = 200_000
    seed: int = 0


def search_all(
    texts: Sequence[str], options: SearchOptions, tell: Callable[[str], None] = lambda _text: None
) -> Iterator[Row]:
    """Search a program for every task among ``texts`` (files and folders), and yield the rows in their order.

    ``tell`` hears what is being worked on. Leaving the iterator early ends all workers.
    """
    targets = find_targets(texts)
    limits = Limits(seconds=options.seconds + _GRACE)
    with Pool(COMMAND, size=min(WORKERS, max(len(targets), 1)), limits=limits) as pool:
        orders = [_submit(pool, target, options, tell) for target in targets]
        for row, job in orders:
            yield row if job is None else _finished(row, job)


def _submit(
    pool: Pool, target: Target | Unusable, options: SearchOptions, tell: Callable[[str], None]
) -> tuple[Row, Job | None]:
    if isinstance(target, Unusable):
        return Row(task_name(target.path), target.path, problem=f"{target.code} {target.message}"), None
    row = Row(task_name(target.path), str(target.path))
    try:
        if target.path.suffix == ".py":
            raise Unusable(target.path, "programs are written for task files; convert this one first", "STEP907")
        text = read_file(target.path).text
    except Unusable as error:
        row.problem = f"{error.code} {error.message}"
        return row, None
    payload = {
        "path": row.path,
        "text": text,
        "seconds": options.seconds,
        "candidates": options.candidates,
        "seed": options.seed,
    }

    def progress(data: Any) -> None:
        tell(f"{row.task}: {data['candidates']:,} candidates")

    return row, pool.submit("search", payload, on_progress=progress)


def _finished(row: Row, job: Job) -> Row:
    try:
        found = job.result()
    except JobCancelled:
        row.reason = "cancelled"
        return row
    except JobError as error:
        text = f"{where(error, Path(row.path))}: {error.code} {error.message}"
        if error.code in _UNSOLVED:
            row.reason = text
        else:
            row.problem = text
        return row
    row.solved, row.impl, row.reason = found["solved"], found["impl"], found["reason"]
    row.candidates, row.seconds = found["candidates"], found["seconds"]
    return row
