"""Starts the executor that is wanted. Ray is imported only where it is."""

from __future__ import annotations

from stepagents.executors.executor import WORKER_MODULE, Executor, available_cpus, worker_command
from stepcore.isolation import TEXT
from stepcore.jobs import Limits, Pool
from stepcore.records import Record


class ExecutorChoice(Record):
    """Which executor is wanted. ``workers`` is the number of jobs at a time, None for one per CPU.

    ``module`` is what a worker runs.
    """

    ray: bool = False
    ray_address: str | None = None
    workers: int | None = None
    module: str = WORKER_MODULE


def open_executor(choice: ExecutorChoice | None = None, limits: Limits | None = None) -> Executor:
    """Start the executor of ``choice``.

    Raises:
        stepagents.executors.ray.executor.RayUnusable: ray is not installed, or its cluster cannot be reached.
    """
    choice = choice or ExecutorChoice()
    if choice.ray:
        from stepagents.executors.ray.executor import RayExecutor

        return RayExecutor(choice.ray_address, size=choice.workers, limits=limits, module=choice.module)
    return Pool(worker_command(choice.module), size=choice.workers or available_cpus(), limits=limits, isolation=TEXT)
