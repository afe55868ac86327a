"""``python -m benchmarks.side_by_side CHECKOUT [WHAT ...]``: the same measurements in two checkouts, in turns.

The other checkout is the commit to stand beside, with a ``.venv`` of its own. Rounds alternate (ours, theirs, theirs,
ours, ...), so that a machine whose speed drifts meets both alike. Each figure is a median over the rounds; a ratio
over 1 means that ours is worse. Single figures scatter by more than the limit, those of other tools too: of those over
it the ones are named with which no round of ours was as good as any of theirs. Exits with 1 where a group as a whole
(geometric mean of its ratios) is worse by more than ``--limit``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.harness import ROOT, BenchReport, save

_SHOWN: Final = 8  # figures of a group that are printed, the worst first
_MORE_IS_BETTER: Final = ("per second", "per cpu second", "right", "share")
_NO_COST: Final = (
    "count", "of", "tasks", "seeds", "stages", "folds", "lines", "gain", "low", "high", "oracle", "python",
)  # fmt: skip
Figures = dict[str, float]


def main() -> int:
    """Measure both checkouts and print how the figures compare."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.side_by_side", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("what", nargs="*", default=["import", "check", "verify", "judge", "editor"])
    parser.add_argument("--rounds", type=int, default=3, help="of each checkout, 3 by default")
    parser.add_argument("--limit", type=float, default=1.05, help="the ratio from which a group counts as worse")
    parser.add_argument("--json-dir", type=Path, default=ROOT / "benchmarks" / "results", metavar="FOLDER")
    options = parser.parse_args()
    other: Path = options.other.absolute()
    console = Console()
    for checkout in (ROOT, other):
        compiled(checkout)
    reports = [_compare(what, other, options.rounds, options.limit) for what in options.what]
    for report in reports:
        report.show(console)
    console.print(f"saved to {save(reports, options.json_dir)}")
    return int(any(report.figures["worse"] for report in reports))


def compiled(checkout: Path) -> None:
    """Have byte code for all modules of a checkout, as an installation has: whoever ran last compiles nothing anew."""
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "compileall", "-q", "stepcore", "agents", "server"]
    subprocess.run(command, cwd=checkout, check=True)


def _compare(what: str, other: Path, rounds: int, limit: float) -> BenchReport:
    measured: dict[Path, list[Figures]] = {ROOT: [], other: []}
    for number in range(rounds):
        for checkout in (ROOT, other) if number % 2 == 0 else (other, ROOT):
            measured[checkout].append(measure(checkout, what))
    ours, theirs = (medians(measured[checkout]) for checkout in (ROOT, other))
    compared = {name: ratio(name, ours[name], theirs[name]) for name in ours.keys() & theirs.keys()}
    ratios = {name: value for name, value in compared.items() if value is not None}
    report = BenchReport(
        f"beside-{what}", f"{what}: ours beside {commit_of(other)}", ["figure", "ours", "other", "ratio"]
    )
    for name in sorted(ratios, key=lambda name: -ratios[name])[:_SHOWN]:
        report.rows.append([name, f"{ours[name]:.4g}", f"{theirs[name]:.4g}", f"{ratios[name]:.3f}"])
    whole = statistics.geometric_mean(ratios.values()) if ratios else 1.0
    report.figures = {
        "commits": [commit_of(ROOT), commit_of(other)],
        "rounds": rounds,
        "ratio": whole,
        "worse": whole > limit,
        "figures": {name: [ours[name], theirs[name], value] for name, value in sorted(ratios.items())},
    }
    over = [name for name in sorted(ratios) if ratios[name] > limit]
    apart = [name for name in over if _always_worse(name, measured[ROOT], measured[other])]
    report.figures["worse in every round"] = apart
    report.goal(f"{what}, geometric mean of {len(ratios)} ratios", whole, limit)
    report.goals.append(f"        {len(over)} of them over {limit:g}, {len(apart)} of these worse in every round")
    report.goals += [f"        worse in every round: {name} ({ratios[name]:.3f})" for name in apart]
    return report


def _always_worse(name: str, ours: Sequence[Figures], theirs: Sequence[Figures]) -> bool:
    """Whether our best round is worse than their worst; with five rounds of each, chance does it in 1 case of 252."""
    return all((ratio(name, one[name], other[name]) or 0) > 1 for one in ours for other in theirs)


def measure(checkout: Path, what: str) -> Figures:
    """Return the figures of one group, measured in ``checkout`` by its own code and Python.

    Raises:
        SystemExit: the measurement failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        python = checkout / ".venv" / "bin" / "python"
        command = [str(python), "-m", "benchmarks", what, "--json-dir", folder]
        done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed in {checkout}:\n{done.stderr[-2000:]}")
        (path,) = Path(folder).glob("*.json")
        reports = json.loads(path.read_text(encoding="utf-8"))["reports"]
    return {name: value for report in reports for name, value in numbers(report["figures"], report["name"])}


def numbers(figures: Mapping[str, Any], name: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers of nested figures with their paths."""
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from numbers(value, f"{name} / {key}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{name} / {key}", float(value)


def medians(rounds: Sequence[Figures]) -> Figures:
    """Return the median of each figure that every round has."""
    shared = set.intersection(*(set(figures) for figures in rounds))
    return {name: statistics.median(figures[name] for figures in rounds) for name in shared}


def ratio(name: str, ours: float, theirs: float) -> float | None:
    """Return how much worse ours is (over 1: worse); None where the figure is no cost, or one of them is 0."""
    kind = name.rpartition(" / ")[2]
    if kind in _NO_COST or any(f" / {part} / " in name for part in _NO_COST) or ours <= 0 or theirs <= 0:
        return None
    return theirs / ours if kind in _MORE_IS_BETTER else ours / theirs


def commit_of(checkout: Path) -> str:
    """Return the short name of the commit that a checkout is at."""
    command = ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
