"""The timer's worker: ``python -m stepcore.timer``, started by a pool of :mod:`stepcore.jobs`.

It runs nobody's code, reads no files and imports no torch; its jobs are in :mod:`stepcore.jobdata.timing`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stepcore.jobdata.timing import TIME, TRACE, TimeRequest, TimeResult, TraceRequest, TraceResult
from stepcore.jobs import Context, Handler, JobError, serve
from stepcore.timer.documents import TimedDocuments
from stepcore.timing.hardware_file import HardwareError

# An edit's findings and a save's verdict come first where they want the same cores.
_NICENESS: Final = 10


def main() -> None:
    """Serve until the owner goes away, behind whatever else wants the processor."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    documents = TimedDocuments()

    def time(request: TimeRequest, context: Context) -> TimeResult:
        with _chip_told():
            return documents.time(request, context.check)

    def trace(request: TraceRequest, _context: Context) -> TraceResult:
        with _chip_told():
            return documents.trace(request)

    serve([Handler(TIME, time), Handler(TRACE, trace)])


@contextmanager
def _chip_told() -> Iterator[None]:
    """Let a job that cannot use its chip fail with what is wrong with it."""
    try:
        yield
    except HardwareError as error:
        raise JobError("STEP506", str(error)) from error


if __name__ == "__main__":
    main()
