"""Verifying one answer at the published sizes: parse, check, simulate, compare, beside the literal oracle."""

from __future__ import annotations

import statistics

import torch

from benchmarks.harness import BenchReport, median_seconds, milliseconds
from benchmarks.tasks_at import benches
from oracle import load_task, run_task


def run() -> BenchReport:
    """Measure all tasks, warm, on one thread."""
    torch.set_num_threads(1)
    columns = ("task", "check ms", "simulate ms", "verify ms", "oracle ms", "oracle / verify")
    report = BenchReport("verify", "Verifying one answer at the published sizes (medians, warm)", columns)
    totals, oracles = [], []
    for bench in benches():
        verdict = bench.verify()
        if not verdict.accepted:
            raise SystemExit(f"{bench.name} is not accepted: {verdict}")
        checked = bench.check()
        check = median_seconds(bench.check, 0.3)
        simulate = median_seconds(lambda b=bench, c=checked: b.session.verify(c), 0.3)  # type: ignore[misc]
        total = median_seconds(bench.verify, 0.3)
        task = load_task(bench.path)
        oracle = median_seconds(lambda t=task: run_task(t), 0.2)  # type: ignore[misc]
        totals.append(total)
        oracles.append(oracle)
        times = [milliseconds(t) for t in (check, simulate, total, oracle)]
        report.rows.append([bench.name, *times, f"{oracle / total:.1f}"])
        report.figures[bench.name] = {"check": check, "simulate": simulate, "verify": total, "oracle": oracle}
    middle, mean = statistics.median(totals), statistics.fmean(totals)
    slow, slow_mean = statistics.median(oracles), statistics.fmean(oracles)
    report.rows.append(["median", "", "", milliseconds(middle), milliseconds(slow), f"{slow / middle:.1f}"])
    report.rows.append(["mean", "", "", milliseconds(mean), milliseconds(slow_mean), f"{slow_mean / mean:.1f}"])
    report.figures["median"] = {"verify": middle, "oracle": slow}
    report.goal("median over all tasks", middle * 1e3, 1.0, " ms")
    return report
