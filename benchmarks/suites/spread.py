"""The search for faster programs on a Ray cluster of four nodes with one CPU each, whose jobs are slow.

The nodes are processes of this machine, and jobs sleep before they work (:mod:`benchmarks.slow_trials`): what is
measured is whether four workers are kept busy, not how fast a processor is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

from benchmarks.harness import ROOT, BenchReport
from benchmarks.slow_trials import SECONDS, SLOW_TRIALS
from stepagents.executors.ray.executor import RayExecutor
from stepagents.optimize.candidates import FasterText, OptimizeTarget
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search, SearchLimits
from stepagents.optimize.trials import SpreadTrials
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.timing.hardware import PRESETS

_EXPERT: Final = ROOT / "examples" / "swiglu_tiles.py"
_WORKERS: Final = 4
_CANDIDATES: Final = 150
_STORE: Final = 80 << 20  # bytes of a node


def run() -> BenchReport:
    """Run the same search with one worker and with four; seconds are of the clock, workers have started before."""
    columns = ("workers", "seconds", "questions", "cycles found", "times")
    title = f"A search on a simulated cluster, jobs of {SECONDS:g} s and what they take"
    report = BenchReport("optimize-spread", title, columns)
    subject = subject_of(_EXPERT.read_text(encoding="utf-8"), str(_EXPERT), "expert")
    if subject is None:
        raise ValueError(f"{_EXPERT} has errors")
    with _cluster() as address:
        fronts, seconds = [], []
        for workers in (1, _WORKERS):
            front, took, asked = _searched(subject, address, workers)
            fronts.append([each.text for each in front])
            seconds.append(took)
            best = min(each.figures.cycles for each in front)
            report.rows.append([str(workers), f"{took:.1f}", str(asked), f"{best:,}", f"{seconds[0] / took:.2f}"])
    if fronts[0] != fronts[1]:
        raise ValueError("another number of workers found other programs")
    report.figures = {"seconds": seconds, "ratio": seconds[0] / seconds[1]}
    report.goal("four workers beside one", seconds[0] / seconds[1], 3.2, "x", at_least=True)
    return report


def _searched(subject: RewriteSubject, address: str, workers: int) -> tuple[tuple[FasterText, ...], float, int]:
    target = OptimizeTarget(PRESETS["validation"])
    with RayExecutor(address, size=workers, module=SLOW_TRIALS) as executor:
        spread = SpreadTrials(executor, subject, target)
        for _ in spread.look([subject.text] * workers, ()):  # so that all have started
            pass
        record = SearchRecord()
        search = Search(subject, target, record, SearchLimits(_CANDIDATES), spread=spread)
        began = perf_counter()
        search.run()
        took = perf_counter() - began
        if spread.problem:
            raise ValueError(spread.problem)
        return search.archive.front, took, record.known


@contextmanager
def _cluster() -> Iterator[str]:
    """Start a cluster on this machine; gives its address."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = str(ROOT)  # of the nodes' processes
    from ray.cluster_utils import Cluster

    options: dict[str, Any] = {"num_cpus": 1, "object_store_memory": _STORE, "include_dashboard": False}
    cluster: Any = Cluster(initialize_head=True, head_node_args=options)
    try:
        for _ in range(_WORKERS - 1):
            cluster.add_node(**options)
        cluster.wait_for_nodes()
        yield str(cluster.address)
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
