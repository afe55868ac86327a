"""Answer files: ``NAME.impl.yaml``, which hold only a program and are read by ``verify --impl DIR``."""

from __future__ import annotations

from pathlib import Path

from stepcore.graph.task import IMPL_SUFFIX, task_name


def answer_path(task: str | Path, folder: Path) -> Path:
    """Return where the answer to ``task`` belongs in ``folder``."""
    return folder / (task_name(task) + IMPL_SUFFIX)
