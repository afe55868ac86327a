"""How long a worker takes to start, isolated as it is here, and how long a job takes that does nothing in a warm one.

The worker imports no torch: what is measured is the machinery, not what it starts.
"""

from __future__ import annotations

import sys

from benchmarks.harness import BenchReport, median_seconds, milliseconds
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Limits, Pool

_COMMAND = (sys.executable, "-m", "tests.job_worker")


def run() -> BenchReport:
    """Measure from the order to the answer."""
    report = BenchReport("jobs", "Jobs that do nothing (medians)", ("what", "ms"))
    cold = median_seconds(_start, 10.0)
    with Pool(_COMMAND, 1, Limits(memory=None)) as pool:
        warm = median_seconds(lambda: pool.submit(untyped("echo"), 1).result(60), 1.0)
    report.rows += [["the first job, in a fresh worker", milliseconds(cold)], ["the next ones", milliseconds(warm)]]
    report.figures = {"cold": cold, "warm": warm}
    report.goal("a warm job", warm * 1e3, 2, " ms")
    return report


def _start() -> None:
    with Pool(_COMMAND, 1, Limits(memory=None)) as pool:
        pool.submit(untyped("echo"), 1).result(60)
