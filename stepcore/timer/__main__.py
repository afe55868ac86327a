"""The timer's worker: ``python -m stepcore.timer``, started by a pool of :mod:`stepcore.jobs`.

It runs nobody's code, reads no files and imports no torch; its jobs are in :mod:`stepcore.jobdata.timing`.
"""

from __future__ import annotations

import os
from typing import Final

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
from stepcore.jobs import Context, Handler, serve
from stepcore.timer.documents import TimedDocuments
from stepcore.timer.told import chip_told

# An edit's findings and a save's verdict come first where they want the same cores.
_NICENESS: Final = 10


def main() -> None:
    """Serve until the owner goes away, behind whatever else wants the processor."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    documents = TimedDocuments()

    def time(request: TimeRequest, context: Context) -> TimeResult:
        with chip_told():
            return documents.time(request, context.check)

    def trace(request: TraceRequest, _context: Context) -> TraceResult:
        with chip_told():
            return documents.trace(request)

    def explain(request: ExplainRequest, context: Context) -> ExplainResult:
        from stepcore.timer.reasons import reasons  # the rewrites, which figures do without

        with chip_told():
            return reasons(request, context.check)

    serve([Handler(TIME, time), Handler(TRACE, trace), Handler(EXPLAIN, explain)])


if __name__ == "__main__":
    main()
