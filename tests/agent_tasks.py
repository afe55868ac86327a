"""Tasks and programs for the tests of the agents."""

from __future__ import annotations

from pathlib import Path

from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile

ROOT = Path(__file__).parents[1]
TASKS = ROOT / "benchmarks" / "tasks"
TASKS2 = ROOT / "benchmarks" / "tasks2"
TASKS3 = ROOT / "benchmarks" / "tasks3"


def load(path: Path) -> TaskFile:
    """Read a task file."""
    task = read_task(path.read_text(encoding="utf-8"), str(path))
    assert task.spec is not None
    return task


def named(name: str) -> TaskFile:
    """Read one of the benchmark tasks."""
    return load(
        next(
            folder / f"{name}.step.yaml"
            for folder in (TASKS, TASKS2, TASKS3)
            if (folder / f"{name}.step.yaml").exists()
        )
    )
