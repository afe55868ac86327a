"""The optimizer's worker: ``python -m stepagents.optimize.worker``, started by an executor.

It checks and times texts, runs nobody's code, reads no files and imports no torch; its jobs are in
:mod:`stepcore.jobdata.optimizing`.
"""

from __future__ import annotations

from typing import Final

from stepagents.optimize.trials import TrialService
from stepcore.jobdata.optimizing import SITES, TRIAL, SitesRequest, SitesResult, TrialRequest, TrialResult
from stepcore.jobs import Context, Handler, serve
from stepcore.timer.told import chip_told

OPTIMIZE_WORKER: Final = "stepagents.optimize.worker"


def handlers() -> list[Handler]:
    """Return what serves the jobs of the worker."""
    service = TrialService()

    def sites(request: SitesRequest, _context: Context) -> SitesResult:
        with chip_told():
            return service.sites(request)

    def trial(request: TrialRequest, _context: Context) -> TrialResult:
        with chip_told():
            return service.trial(request)

    return [Handler(SITES, sites), Handler(TRIAL, trial)]


if __name__ == "__main__":
    serve(handlers())
