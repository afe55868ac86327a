"""A worker without jobs: ``python -m stepcore.jobs.probe``. Its hello says how workers are isolated on this machine."""

from __future__ import annotations

import sys
from typing import Any, Final

from stepcore.isolation import Isolation, Report
from stepcore.jobdata.kinds import JobKind
from stepcore.jobs.job import Limits
from stepcore.jobs.pool import Pool
from stepcore.jobs.serving import Context, Handler, serve

_SECONDS: Final = 30.0
_ABOUT: Final = JobKind("about", type(None), type(None), dict[str, Any])


def isolation_in_force(isolation: Isolation) -> Report:
    """Return what is in force in a worker with ``isolation``; takes a tenth of a second.

    Raises:
        JobError: no worker can be started.
    """
    command = (sys.executable, "-P", "-m", "stepcore.jobs.probe")
    with Pool(command, 1, Limits(_SECONDS, None, _SECONDS), isolation=isolation) as pool:
        return Report.from_json(pool.submit(_ABOUT, None).result())


def about(_request: None, context: Context) -> dict[str, Any]:
    """Tell what is in force."""
    return context.isolation


if __name__ == "__main__":
    serve([Handler(_ABOUT, about)])
