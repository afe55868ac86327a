"""How long ``stepsmith synth FILE.py::FUNCTION`` takes as a process, PyTorch's start included.

``python -m benchmarks process``: the first function of each family of ``benchmarks/functions``, each in a new process
that writes its file. The first turn does not count: it brings PyTorch's libraries into the page cache.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks.harness import BenchReport
from benchmarks.suites.functions import FOLDER, functions_in

_TURNS: Final = 3
_GOAL: Final = 3.0  # seconds


def run() -> BenchReport:
    """Measure from the start of the process to its end."""
    targets = [f"{path}::{functions_in(path)[0]}" for path in sorted(FOLDER.rglob("*.py")) if functions_in(path)]
    turns = [[_seconds(target) for target in targets] for _ in range(_TURNS + 1)][1:]
    times = {
        target: statistics.median(column) for target, column in zip(targets, zip(*turns, strict=True), strict=True)
    }
    report = BenchReport("process", "Synthesis of one function as a process", ("function", "s"))
    report.rows = [[_shown(target), f"{seconds:.2f}"] for target, seconds in times.items()]
    middle = statistics.median(times.values())
    report.rows.append(["median", f"{middle:.2f}"])
    report.figures = {
        "median": middle,
        "turns": _TURNS,
        "seconds": {_shown(name): time for name, time in times.items()},
    }
    report.goal("synthesis of one function as a process, median", middle, _GOAL, " s")
    return report


def _seconds(target: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "stepcore.cli",
            "synth",
            target,
            "--output",
            str(Path(folder) / "found.step.py"),
        ]
        start = perf_counter()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        seconds = perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{_shown(target)} should become a program: {done.stdout}{done.stderr}")
    return seconds


def _shown(target: str) -> str:
    path, _, name = target.rpartition("::")
    return f"{Path(path).stem}::{name}"
