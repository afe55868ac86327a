"""Pools of workers as parts of the server own them: made by the first job, awaited in the loop, closed beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from stepcore.jobdata.kinds import Result
from stepcore.jobs import Job, Pool


class OwnedPool:
    """A pool that is made when it is first asked for, and anew after it was closed."""

    def __init__(self, make: Callable[[], Pool]) -> None:
        self._make = make
        self._pool: Pool | None = None

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of its workers."""
        return [] if self._pool is None else self._pool.worker_pids

    def started(self) -> Pool:
        """Return the pool."""
        if self._pool is None:
            self._pool = self._make()
        return self._pool

    async def close(self) -> None:
        """Kill what runs; does not block the loop."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.get_running_loop().run_in_executor(None, pool.close)

    def close_now(self) -> None:
        """Kill what runs, and wait for it."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()


async def answer_of(job: Job[Result], patience: float | None = None) -> Result:
    """Wait for a job, which is stopped when nobody waits any more; ``patience`` is in seconds.

    Raises:
        JobError: it failed, or its limits were reached.
        TimeoutError: there was no answer within ``patience``.
        CancelledError: the task that waits here was cancelled, or the pool was closed.
    """
    try:
        return await asyncio.wait_for(asyncio.wrap_future(job.future), patience)
    finally:
        if not (job.future.done() and not job.future.cancelled()):
            job.cancel()
