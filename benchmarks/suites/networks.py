"""How many whole networks become verified programs: ``python -m benchmarks networks [--folder FOLDER]``.

Each file of the folder (its README says the form) is synthesized by ``stepsmith synth FILE.py::Model`` in a process of
its own, so that its time and its memory are known.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from rich.console import Console

from benchmarks.harness import ROOT, BenchReport
from stepcore.records import Record

FOLDER = ROOT / "benchmarks" / "networks"
SECONDS: Final = 300.0
BYTES: Final = 4 << 30
_LONGEST: Final = 100  # characters of a reason in the table
_KIB: Final = 1024


class NetworkRow(Record):
    """What came of one network; ``reason`` is empty where it is verified.

    ``cpu_seconds`` is the processor time of the worker, which does all but reading and printing; None where it did not
    end by itself. On a machine that others use, too, it says more than ``seconds``.
    """

    network: str
    verified: bool
    reason: str
    seconds: float
    cpu_seconds: float | None
    peak_bytes: int
    layers: int | None
    distinct: int | None
    operators: int | None


def run(folder: Path = FOLDER, seconds: float = SECONDS) -> BenchReport:
    """Measure the networks of ``folder``; one that takes more than ``seconds`` or 4 GB is not verified."""
    files = sorted(folder.glob("*.py"))
    if not files:
        raise SystemExit(f"{folder} holds no network: no file that ends in .py")
    columns = ["network", "verified", "seconds", "CPU s", "peak MB", "layers", "distinct", "operators", "why not"]
    report = BenchReport("networks", f"Whole networks of {folder.name} that became verified programs", columns)
    console = Console()
    rows: list[NetworkRow] = []
    for file in files:
        row = measured(file, seconds)
        rows.append(row)
        console.print(_line(row), markup=False, highlight=False)
        report.rows.append(_cells(row))
    verified = sum(row.verified for row in rows)
    report.rows.append(["all", f"{verified} of {len(rows)}", *[""] * (len(columns) - 2)])
    report.figures = {"rows": [asdict(row) for row in rows], "verified": verified, "networks": len(rows)}
    report.goal("verified, as a share", verified / len(rows), 32 / 40, at_least=True)
    return report


def measured(file: Path, seconds: float = SECONDS) -> NetworkRow:
    """Synthesize one network in a process of its own."""
    options = ["--format", "json", "--experience", "none"]
    command = [sys.executable, "-P", "-m", "stepcore.cli", "synth", f"{file}::Model", *options]
    start = perf_counter()
    # Files, not pipes: nobody reads while it runs.
    with tempfile.TemporaryFile() as told, tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdout=told, stderr=complaints, start_new_session=True)
        late = threading.Event()
        timer = threading.Timer(seconds, _end, (process.pid, late))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        passed = perf_counter() - start
        texts = [(stream.seek(0), stream.read().decode(errors="replace"))[1] for stream in (told, complaints)]
    found = _result(texts[0])
    reason = _reason(found, texts[1], process.returncode)
    # Of the command or of its worker, which tells itself: nobody waits for a process in a namespace of its own.
    peak = max(usage.ru_maxrss * _KIB, found.get("peak_bytes") or 0)
    if late.is_set():
        reason = f"more than {seconds:g} s"
    elif not reason and peak > BYTES:
        reason = f"more than {BYTES >> 30} GB"
    counts = (found.get("layers"), found.get("distinct_layers"), found.get("operators"))
    return NetworkRow(
        file.stem, not reason, reason, round(passed, 2), _rounded(found.get("cpu_seconds")), peak, *counts
    )


def _end(process: int, late: threading.Event) -> None:
    """Interrupt the process group: the command then ends its workers."""
    late.set()
    os.killpg(process, signal.SIGINT)


def _result(text: str) -> dict[str, Any]:
    try:
        rows = json.loads(text)
    except ValueError:
        return {}
    return dict(rows[0]) if rows else {}


def _reason(found: dict[str, Any], complaints: str, code: int) -> str:
    if found.get("solved"):
        return ""
    known = str(found.get("reason") or "") or complaints.strip()
    return known or f"the command ended with {code} and said nothing"


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 2)


def _line(row: NetworkRow) -> str:
    cpu = "" if row.cpu_seconds is None else f", {row.cpu_seconds:.1f} s of processor time"
    return f"{row.network}: {row.reason or 'verified'} ({row.seconds:.1f} s{cpu}, {row.peak_bytes / 1e6:.0f} MB)"


def _cells(row: NetworkRow) -> list[str]:
    counts = ["-" if count is None else str(count) for count in (row.layers, row.distinct, row.operators)]
    shown = row.reason if len(row.reason) <= _LONGEST else f"{row.reason[: _LONGEST - 4]} ..."
    peak = f"{row.peak_bytes / 1e6:.0f}"
    cpu = "-" if row.cpu_seconds is None else f"{row.cpu_seconds:.1f}"
    return [row.network, "yes" if row.verified else "no", f"{row.seconds:.1f}", cpu, peak, *counts, shown]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure single files, for whoever works on one: ``python -m benchmarks.suites.networks FILE...``."""
    for text in arguments if arguments is not None else sys.argv[1:]:
        print(json.dumps(asdict(measured(Path(text)))))


if __name__ == "__main__":
    main()
