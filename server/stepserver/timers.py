"""The process that times programs: one for all documents, which runs nobody's code and imports no torch.

It is the server's own Python, apart from the server, so that no edit waits for a count of cycles and none of its memory
is the server's. It starts with the first program of a trusted workspace.
"""

from __future__ import annotations

import sys
from typing import Final

from stepcore.isolation import TEXT
from stepcore.jobdata.timing import (
    EXPLAIN,
    TIME,
    TRACE,
    ExplainRequest,
    ExplainResult,
    TimeRequest,
    TimeResult,
    TraceRequest,
    TraceResult,
)
from stepcore.jobs import Limits, Pool
from stepserver.pools import OwnedPool, answer_of
from stepserver.simulators import worker_command, worker_environment
from stepserver.workspace import Workspace

_SECONDS: Final = 60.0  # of work, for a document
_MEMORY: Final = 1 << 30


class Timers:
    """The pool. Jobs run one at a time, in the order in which they came."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._pool = OwnedPool(self._made)

    async def run(self, request: TimeRequest) -> TimeResult:
        """Time the programs of a document.

        Raises:
            JobError: the chip cannot be used, a limit was reached, or the process ended.
            CancelledError: the task that waits here was cancelled; then the job is stopped, too.
        """
        return await answer_of(self._pool.started().submit(TIME, request))

    async def trace(self, request: TraceRequest) -> TraceResult:
        """Record one program.

        Raises:
            JobError: the chip cannot be used, a limit was reached, or the process ended.
            CancelledError: the task that waits here was cancelled; then the job is stopped, too.
        """
        return await answer_of(self._pool.started().submit(TRACE, request))

    async def explain(self, request: ExplainRequest) -> ExplainResult:
        """Tell what rewrites could do in one program, and why they cannot.

        Raises:
            JobError: the chip cannot be used, a limit was reached, or the process ended.
            CancelledError: the task that waits here was cancelled; then the job is stopped, too.
        """
        return await answer_of(self._pool.started().submit(EXPLAIN, request))

    def _made(self) -> Pool:
        command = worker_command(sys.executable, "stepcore.timer")
        limits = Limits(seconds=_SECONDS, memory=_MEMORY)
        return Pool(command, 1, limits, worker_environment(self._workspace.client), TEXT)

    async def reset(self) -> None:
        """End the process; does not block the loop. The next use starts it again."""
        await self._pool.close()

    def close(self) -> None:
        """Kill what runs, and wait for it."""
        self._pool.close_now()
