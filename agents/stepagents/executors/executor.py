"""Where jobs run: worker processes of this machine, or of the machines of a Ray cluster. One interface for both.

Search and judging submit the same jobs to either. No torch and no ray on import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final, Protocol, Self

from stepcore.jobdata.kinds import JobKind, Progress, Request, Result
from stepcore.jobs import Job

if TYPE_CHECKING:
    from stepcore.jobs.job import OnAsk

WORKER_MODULE: Final = "stepagents.worker"


class Executor(Protocol):
    """Runs jobs of :mod:`stepagents.worker`, several at a time. A context manager: leaving it ends all jobs."""

    @property
    def size(self) -> int:
        """How many jobs run at the same time, at most."""

    def submit(
        self,
        kind: JobKind[Request, Progress, Result],
        request: Request,
        *,
        seconds: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_ask: OnAsk | None = None,
    ) -> Job[Result]:
        """Queue a job, as :meth:`stepcore.jobs.Pool.submit` does."""

    def close(self) -> None:
        """Cancel what waits, kill what runs. May be called twice."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...


def worker_command(module: str = WORKER_MODULE) -> tuple[str, ...]:
    """Return the command that starts a worker in this interpreter.

    A worker that needs workers of its own starts them as it was started: an editor may have found our libraries where
    this interpreter alone would not.
    """
    spec = sys.modules["__main__"].__spec__
    if spec is not None and spec.name == WORKER_MODULE:
        return tuple(module if word == WORKER_MODULE else word for word in sys.orig_argv)
    return (sys.executable, "-P", "-m", module)


def available_cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1
