"""The optimizer's worker: ``python -m stepagents.optimize.worker``, started by an executor.

It checks and times texts, runs nobody's code, reads no files and imports no torch; its jobs are in
:mod:`stepcore.jobdata.optimizing`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from stepagents.optimize.trials import TrialService
from stepcore.jobdata.optimizing import SITES, TRIAL, SitesRequest, SitesResult, TrialRequest, TrialResult
from stepcore.jobs import Context, Handler, JobError, serve
from stepcore.timing.hardware_file import HardwareError

OPTIMIZE_WORKER: Final = "stepagents.optimize.worker"


def handlers() -> list[Handler]:
    """Return what serves the jobs of the worker."""
    service = TrialService()

    def sites(request: SitesRequest, _context: Context) -> SitesResult:
        with _chip_told():
            return service.sites(request)

    def trial(request: TrialRequest, _context: Context) -> TrialResult:
        with _chip_told():
            return service.trial(request)

    return [Handler(SITES, sites), Handler(TRIAL, trial)]


@contextmanager
def _chip_told() -> Iterator[None]:
    """Let a job that cannot use its chip fail with what is wrong with it."""
    try:
        yield
    except HardwareError as error:
        raise JobError("STEP506", str(error)) from error


if __name__ == "__main__":
    serve(handlers())
