"""Larger sizes: twice the published ones beside the oracle, sixteen times beside the reference in PyTorch.

Everything runs on one thread, so that ratios do not depend on who else uses the machine's cores.
"""

from __future__ import annotations

import statistics

import torch

from benchmarks.harness import BenchReport, medians_in_turns, milliseconds
from benchmarks.tasks_at import Bench, benches
from oracle import PreparedTask, load_task


def run() -> list[BenchReport]:
    """Measure both."""
    return [_twice(), _sixteen()]


def _twice() -> BenchReport:
    """Compare with the oracle like with like, and with everything that an answer costs.

    ``oracle`` and ``simulate`` do the same: data drawn and references computed before, they run the program and
    compare. (The oracle also lets Python compile the text; ours also bounds the memory.) ``verify`` adds what the
    oracle does not do: parsing and checking a text not seen before.
    """
    torch.set_num_threads(1)
    columns = ("task", "oracle ms", "simulate ms", "oracle / simulate", "verify ms", "oracle / verify")
    report = BenchReport("scale-2", "Sizes twice as large: run and compare, beside the literal oracle", columns)
    rows: list[list[float]] = []
    for bench in benches(2):
        _accepted(bench)
        prepared, checked = PreparedTask(load_task(bench.path), bench.dims), bench.check()
        if not prepared.judge().matches:
            raise SystemExit(f"the oracle does not accept {bench.name} with {bench.dims}")
        times = medians_in_turns(
            prepared.judge,
            lambda b=bench, c=checked: b.session.verify(c),  # type: ignore[misc]
            bench.verify,
        )
        rows.append(times)
        report.rows.append([bench.name, *_beside(*times)])
        report.figures[bench.name] = dict(zip(("oracle", "simulate", "verify"), times, strict=True))
    total = [sum(column) for column in zip(*rows, strict=True)]
    middle = [statistics.median(column) for column in zip(*rows, strict=True)]
    alike = statistics.median(oracle / simulate for oracle, simulate, _ in rows)
    whole = statistics.median(oracle / verify for oracle, _, verify in rows)
    report.rows.append(["all together", *_beside(*total)])
    report.rows.append(["median time", *_beside(*middle)])
    report.rows.append(["median ratio", "", "", f"{alike:.0f}", "", f"{whole:.0f}"])
    report.figures["ratios"] = {
        "simulate": {"all": total[0] / total[1], "median": alike},
        "verify": {"all": total[0] / total[2], "median": whole},
    }
    report.goal("simulate, all tasks together", total[0] / total[1], 50, "x", at_least=True)
    report.goal("simulate, median over the tasks", alike, 50, "x", at_least=True)
    report.goal("verify (parse and check included), all tasks together", total[0] / total[2], 50, "x", at_least=True)
    report.goal("verify (parse and check included), median over the tasks", whole, 50, "x", at_least=True)
    return report


def _beside(oracle: float, simulate: float, verify: float) -> list[str]:
    """Return times and ratios as they stand in the table."""
    fast = [milliseconds(simulate), f"{oracle / simulate:.0f}", milliseconds(verify), f"{oracle / verify:.0f}"]
    return [milliseconds(oracle), *fast]


def _sixteen() -> BenchReport:
    torch.set_num_threads(1)
    columns = ("task", "folds", "simulate ms", "PyTorch ms", "simulate / PyTorch")
    report = BenchReport("scale-16", "Sizes 16 times as large: simulating beside the reference in PyTorch", columns)
    worst = {True: 0.0, False: 0.0}
    for bench in benches(16):
        _accepted(bench)
        graph = bench.check().graph
        simulate, reference = medians_in_turns(
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
