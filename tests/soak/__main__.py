"""``python -m tests.soak [--seed S] [--budget SECONDS] [--only NAME]``: campaigns in turn, each with its share.

The budget is processor time; the corpus, all names of torch, the forks of the depth rule and programs for the literal
timing engine run as a whole beside it.
What fails is printed with its seed, and its input is kept; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parents[1]
if __name__ == "__main__":  # as pytest arranges it (pythonpath in pyproject.toml)
    sys.path[:0] = [str(TESTS), str(TESTS.parent / "agents"), str(TESTS.parent / "server")]

from .campaign import Order, Report, Run, spent  # noqa: E402
from .hostile_runs import corpus, drawn  # noqa: E402
from .properties import (  # noqa: E402
    affine,
    blocks,
    calls,
    changes,
    depths,
    editor,
    generation2,
    modules,
    mutated_files,
    mutated_loops,
    optimized,
    ragged,
    simulator,
    timed_programs,
    timing,
    torch_names,
    types,
)
from .storms import storms  # noqa: E402

# Shares of the budget: hostile inputs cost a process each now and then, a random program some milliseconds.
CAMPAIGNS: dict[str, tuple[Run, float]] = {
    "corpus": (corpus, 0),
    "drawn": (drawn, 4),
    "simulator": (simulator, 2),
    "ragged": (ragged, 2),
    "generation2": (generation2, 2),
    "mutated": (mutated_files, 2),
    "loops": (mutated_loops, 2),
    "optimized": (optimized, 2),
    "types": (types, 1),
    "modules": (modules, 2),
    "calls": (calls, 1),
    "affine": (affine, 1),
    "editor": (editor, 2),
    "storm": (storms, 2),
    "blocks": (blocks, 1),
    "changes": (changes, 1),
    "timing": (timing, 1),
    "programs": (timed_programs, 0),
    "torch": (torch_names, 0),
    "depths": (depths, 0),
}


def generated(order: Order, report: Report) -> None:
    """Generated files are read back, checked and verified, and hold no text that the gate did not print."""
    from soak_generated import run  # type: ignore[import-not-found,unused-ignore]

    count = max(int(order.budget), 1)
    report.tried = count
    report.failures += [str(failure) for failure in run(order.seed, count)]


if importlib.util.find_spec("soak_generated") is not None:
    CAMPAIGNS["generated"] = (generated, 4)


def run_all(names: list[str], seed: int, budget: float, folder: Path) -> list[Report]:
    """Run campaigns and print a line for each."""
    shares = sum(CAMPAIGNS[name][1] for name in names) or 1
    reports: list[Report] = []
    for name in names:
        campaign, share = CAMPAIGNS[name]
        report, before = Report(name), spent()
        campaign(Order(seed, budget * share / shares, folder), report)
        report.seconds = spent() - before
        reports.append(report)
        for failure in report.failures:
            print(f"FAILED {name}, --seed {seed}: {failure}", flush=True)
        print(f"{name}: {report.tried} tried, {len(report.failures)} failed, {report.seconds:.0f} s", flush=True)
    return reports


def main() -> int:
    """Parse the command line and run; 1 when something failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="Seeded campaigns of tests.")
    parser.add_argument("--seed", type=int, default=1, help="of all that is drawn (default: 1)")
    parser.add_argument("--budget", type=float, default=1800.0, help="seconds of processor time (default: 1800)")
    parser.add_argument("--only", action="append", choices=sorted(CAMPAIGNS), help="a campaign; may be given again")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of failures (default: a temporary one)")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="stepsmith-soak-"))
    reports = run_all(arguments.only or list(CAMPAIGNS), arguments.seed, arguments.budget, folder)
    failed = sum(len(report.failures) for report in reports)
    print(
        f"{sum(report.tried for report in reports)} tried, {failed} failed" + (f"; kept in {folder}" if failed else "")
    )
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
