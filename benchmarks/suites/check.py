"""Checking Python files: 1,000 lines warm and as a cold process, and growth up to 100,000 lines."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Final

from benchmarks.harness import ROOT, BenchReport, median_seconds, milliseconds
from stepcore.check import check_text

_HEADER = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M, N
"""

_PROGRAM = """

@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]), init=[0])
def add_{i}{tag}(state, input):
    return [state[0] + input[0]]


@step.fn(input=[step.Buffer(step.f32, [K]), step.f32], output=step.Buffer(step.f32, [K]))
def scale_{i}{tag}(input):
    row, factor = input
    return [torch.relu(row) * factor]


@step.program(dims={{M: {m}, N: 7, K: 9}})
def rows_{i}{tag}(
    E0: Annotated[step.Stream, step.f32, (K, M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]
) -> Annotated[step.Stream, step.Buffer(step.f32, [K]), (N,)]:
    E2 = step.Bufferize(a=1).apply(E0)
    E3 = step.Zip().apply((E2, E1))
    E4 = step.Map(fn=scale_{i}{tag}).apply(E3)
    return step.Accum(fn=add_{i}{tag}, b=1).apply(E4)
"""

_HEADER_2 = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M, N

ROW, T = step.Tile("fp32", [1, D]), step.dyn("T")
"""

# Tiles, a size that only a run knows, a parameter off chip, rows that are routed and form one dynamic tile each way.
_PROGRAM_2 = """

@step.fn(input=ROW, output=ROW, init=[0])
def add_{i}{tag}(state, input):
    return [state[0] + input[0]]


@step.fn(input=[step.Buffer(ROW, [K]), ROW], output=step.Buffer(ROW, [K]))
def scale_{i}{tag}(input):
    row, factor = input
    return [torch.relu(row) * factor]


@step.program(dims={{M: {m}, N: 7, K: 9}}, sizes={{"?T": (0, 8)}})
def rows_{i}{tag}(
    E0: Annotated[step.Stream, ROW, (K, M, T)], route: Annotated[step.Stream, step.Multihot(step.f32, 2), (T,)], *,
    w: Annotated[step.Param, step.f32, (D, M)],
) -> Annotated[step.Stream, ROW, (T,)]:
    r0, r1, r2 = step.Copy(n=3).apply(route)
    E1 = step.LinearOffChipLoad(tensor=w, tile=[1, D], shape=[M], stride=[1]).apply(r0)
    E2 = step.Bufferize(a=1).apply(E0)
    E3 = step.Zip().apply((E2, E1))
    E4 = step.Map(fn=scale_{i}{tag}).apply(E3)
    sums = step.Accum(fn=add_{i}{tag}, b=2).apply(step.Streamify().apply(E4))
    parts = step.Partition(N=2).apply((sums, r1))
    tiles = [step.Retile(axis=0).apply(step.Promote(b=1).apply(part)) for part in parts]
    rows = [step.RetileStreamify(axis=0).apply(tile) for tile in tiles]
    return step.Accum(fn=add_{i}{tag}, b=1).apply(step.Reassemble().apply((rows, r2)))
"""

SIZES: Final = (1_000, 3_000, 10_000, 30_000, 100_000)
_LONG: Final = 15_000  # lines
_SAMPLES: Final = 7  # of shorter texts: a search for garbage in one or two of them, which takes longer, is no median


def python_file(lines: int, tag: str = "") -> str:
    """Return the text of a Python file with about ``lines`` lines, 20 to a program; ``tag`` makes it a new text."""
    pieces, start = [_HEADER], _HEADER.count("\n")
    each = _PROGRAM.count("\n")
    for index in range(max((lines - start) // each, 1)):
        pieces.append(_PROGRAM.format(i=index, m=index % 9 + 1, tag=tag))
    return "".join(pieces)


def generation2_file(lines: int, tag: str = "") -> str:
    """Return the same of generation 2: 28 lines to a program, with four times as many operators."""
    pieces, start = [_HEADER_2], _HEADER_2.count("\n")
    for index in range(max((lines - start) // _PROGRAM_2.count("\n"), 1)):
        pieces.append(_PROGRAM_2.format(i=index, m=index % 9 + 1, tag=tag))
    return "".join(pieces)


def run() -> BenchReport:
    """Measure checking in this process and in fresh ones."""
    report = BenchReport("check", "Checking Python files (medians)", ("what", "lines", "programs", "ms", "us per line"))
    per_line: dict[int, float] = {}
    for size in SIZES:
        text = python_file(size)
        result = check_text(text, "bench.py")
        if result.diagnostics:
            raise SystemExit(f"the generated file is not clean: {result.diagnostics[0]}")
        lines = text.count("\n")
        # No block of the file was seen before, so nothing comes from the cache of parsed blocks.
        fresh = (python_file(size, f"_{number}") for number in count())
        seconds = median_seconds(lambda texts=fresh: check_text(next(texts), "bench.py"), 0.5, warm=1, least=1)  # type: ignore[misc]
        seconds -= median_seconds(lambda n=size: python_file(n, "_"), 0.05, warm=1, least=1)  # type: ignore[misc]
        per_line[size] = seconds / lines
        _row(report, "warm, new text", lines, len(result.programs), seconds)
        least = 1 if lines > _LONG else _SAMPLES
        again = median_seconds(lambda t=text: check_text(t, "bench.py"), 0.5, warm=1, least=least)  # type: ignore[misc]
        _row(report, "warm, text seen before", lines, len(result.programs), again)
    newer = _generation2(report)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bench.py"
        path.write_text(python_file(1_000), encoding="utf-8")
        seconds = median_seconds(lambda: _command(path), 2.0, warm=1)
    _row(report, "cold process: stepsmith check", 1_000, 50, seconds)
    report.goal("1,000 lines, warm", per_line[1_000] * 1_000 * 1e3, 50, " ms")
    report.goal("1,000 lines of generation 2, warm", newer * 1e3, 50, " ms")
    report.goal("1,000 lines, cold process", seconds, 0.4, " s")
    report.goal("time per line at 100,000 lines over that at 1,000", per_line[100_000] / per_line[1_000], 1.5, "x")
    return report


def _generation2(report: BenchReport) -> float:
    """Measure a new text of 1,000 lines of generation 2."""
    text = generation2_file(1_000)
    result = check_text(text, "bench.py")
    if result.diagnostics:
        raise SystemExit(f"the generated file is not clean: {result.diagnostics[0]}")
    fresh = (generation2_file(1_000, f"_{number}") for number in count())
    seconds = median_seconds(lambda: check_text(next(fresh), "bench.py"), 0.5, warm=1, least=1)
    _row(report, "generation 2: warm, new text", text.count("\n"), len(result.programs), seconds)
    return seconds


def _row(report: BenchReport, what: str, lines: int, programs: int, seconds: float) -> None:
    report.rows.append([what, str(lines), str(programs), milliseconds(seconds), f"{seconds / lines * 1e6:.1f}"])
    report.figures[f"{what} {lines}"] = seconds


def _command(path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "stepcore.cli", "check", str(path)], check=True, cwd=ROOT, capture_output=True
    )
