"""Larger sizes: twice the published ones beside the oracle, sixteen times beside the reference in PyTorch.

Everything runs on one thread, so that ratios do not depend on who else uses the machine's cores.
"""

from __future__ import annotations

import statistics

import torch

from benchmarks.harness import Report, milliseconds, paired_medians
from benchmarks.tasks_at import Bench, benches
from oracle import load_task, run_task


def run() -> list[Report]:
    """Measure both."""
    return [_twice(), _sixteen()]


def _twice() -> Report:
    torch.set_num_threads(1)
    columns = ("task", "verify ms", "oracle ms", "oracle / verify")
    report = Report("scale-2", "Sizes twice as large: verify (parse to verdict) beside the literal oracle", columns)
    totals: list[tuple[float, float]] = []
    for bench in benches(2):
        _accepted(bench)
        task = load_task(bench.path)
        verify, oracle = paired_medians(bench.verify, lambda t=task, b=bench: run_task(t, dims=b.dims))  # type: ignore[misc]
        totals.append((verify, oracle))
        report.rows.append([bench.name, milliseconds(verify), milliseconds(oracle), f"{oracle / verify:.0f}"])
        report.figures[bench.name] = {"verify": verify, "oracle": oracle}
    ratios = [oracle / verify for verify, oracle in totals]
    ours, slow = sum(verify for verify, _ in totals), sum(oracle for _, oracle in totals)
    report.rows.append(["all together", milliseconds(ours), milliseconds(slow), f"{slow / ours:.0f}"])
    report.rows.append(["median ratio", "", "", f"{statistics.median(ratios):.0f}"])
    report.goal("all tasks together", slow / ours, 50, "x", at_least=True)
    report.goal("median over the tasks", statistics.median(ratios), 50, "x", at_least=True)
    return report


def _sixteen() -> Report:
    torch.set_num_threads(1)
    columns = ("task", "folds", "simulate ms", "PyTorch ms", "simulate / PyTorch")
    report = Report("scale-16", "Sizes 16 times as large: simulating beside the reference in PyTorch", columns)
    worst = {True: 0.0, False: 0.0}
    for bench in benches(16):
        _accepted(bench)
        graph = bench.check().graph
        simulate, reference = paired_medians(
            lambda b=bench, g=graph: b.session.run(g),  # type: ignore[misc]
            bench.session.world.compute_references,
        )
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
