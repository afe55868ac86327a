"""Larger sizes: twice the published ones beside the oracle, sixteen times beside the reference in PyTorch."""

from __future__ import annotations

import os
import statistics

import torch

from benchmarks.harness import Report, median_seconds, milliseconds
from benchmarks.tasks_at import Bench, benches
from tests.oracle import load_task, run_task


def run() -> list[Report]:
    """Measure both."""
    return [_twice(), _sixteen()]


def _twice() -> Report:
    torch.set_num_threads(1)
    columns = ("task", "verify ms", "oracle ms", "oracle / verify")
    report = Report("scale-2", "Sizes twice as large: verify beside the literal oracle", columns)
    ratios = []
    for bench in benches(2):
        _accepted(bench)
        verify = median_seconds(bench.verify, 0.3)
        task = load_task(bench.path)
        oracle = median_seconds(lambda t=task, b=bench: run_task(t, dims=b.dims), 0.2, warm=1)  # type: ignore[misc]
        ratios.append(oracle / verify)
        report.rows.append([bench.name, milliseconds(verify), milliseconds(oracle), f"{oracle / verify:.0f}"])
        report.figures[bench.name] = {"verify": verify, "oracle": oracle}
    report.rows.append(["median", "", "", f"{statistics.median(ratios):.0f}"])
    report.goal("median ratio", statistics.median(ratios), 50, "x", at_least=True)
    report.goal("smallest ratio", min(ratios), 50, "x", at_least=True)
    return report


def _sixteen() -> Report:
    torch.set_num_threads(os.cpu_count() or 1)
    columns = ("task", "folds", "simulate ms", "PyTorch ms", "simulate / PyTorch")
    report = Report("scale-16", "Sizes 16 times as large: simulating beside the reference in PyTorch", columns)
    worst = {True: 0.0, False: 0.0}
    for bench in benches(16):
        _accepted(bench)
        graph = bench.check().graph
        simulate = median_seconds(lambda b=bench, g=graph: b.session.run(g), 1.0, warm=1)  # type: ignore[misc]
        reference = median_seconds(bench.session.world.compute_references, 0.5, warm=1)
        ratio = simulate / reference
        worst[bench.folds] = max(worst[bench.folds], ratio)
        folds = "yes" if bench.folds else "no"
        report.rows.append([bench.name, folds, milliseconds(simulate), milliseconds(reference), f"{ratio:.1f}"])
        report.figures[bench.name] = {"folds": bench.folds, "simulate": simulate, "reference": reference}
    report.goal("largest ratio where nothing is folded", worst[False], 5, "x")
    report.goal("largest ratio where a dimension is folded", worst[True], 50, "x")
    return report


def _accepted(bench: Bench) -> None:
    verdict = bench.verify()
    if not verdict.accepted:
        raise SystemExit(f"{bench.name} is not accepted with {bench.dims}: {verdict}")
