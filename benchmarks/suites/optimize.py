"""Programs of the repository made faster by rewrites: cycles before and after, all of them verified.

The tiled SwiGLU expert is held against the points that were published for it: tile sizes, cycles and bytes on chip.
"""

from __future__ import annotations

import re
from math import exp, log
from pathlib import Path
from time import thread_time
from typing import Final

from benchmarks.harness import ROOT, TASKS, BenchReport
from stepagents.optimize.candidates import Goal, OptimizeTarget
from stepagents.optimize.outcome import Optimized
from stepagents.optimize.proof import Judges
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.run import Watch, optimized
from stepcore.check import check_text
from stepcore.cycles.timed import time_program
from stepcore.jobs import Limits, Pool
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.settings.config import Config
from stepcore.settings.limits import in_force
from stepcore.timing.hardware import PRESETS, Hardware

_EXPERT: Final = ROOT / "examples" / "swiglu_tiles.py"
# Cycles of the published runs by rows and columns of tiles.
PUBLISHED: Final = {
    (16, 16): 33289, (16, 32): 29401, (16, 64): 27502, (16, 128): 26991, (16, 256): 27503,
    (32, 16): 21224, (32, 32): 17098, (32, 64): 15288, (32, 128): 14767, (32, 256): 15292,
    (64, 16): 15218, (64, 32): 11186, (64, 64): 9538, (64, 128): 9275, (64, 256): 11061,
}  # fmt: skip
_WORKERS: Final = 2


def run() -> list[BenchReport]:
    """Optimize on one thread; seconds are those of the processor in this process, without the judge's workers."""
    limits = in_force(Config())
    with Pool(size=_WORKERS, limits=Limits(memory=limits.memory << 20)) as pool:
        return [_expert(pool), _all(pool)]


def _optimized(
    subject: RewriteSubject, chip: Hardware, pool: Pool, goal: Goal = Goal.CYCLES
) -> tuple[Optimized, float]:
    start = thread_time()
    watch = Watch(lambda _text: None, lambda: False)
    with SearchRecord() as record, Judges(subject, chip, in_force(Config()), pool) as judges:
        found = optimized(subject, OptimizeTarget(chip, goal=goal), record, judges, watch)
    return found, thread_time() - start


def _subjects(path: Path) -> list[RewriteSubject]:
    text = path.read_text(encoding="utf-8")
    names = [program.name for program in check_text(text, str(path), with_fixes=False).programs]
    found = (subject_of(text, str(path), name) for name in names)
    return [subject for subject in found if subject is not None]


def _expert(pool: Pool) -> BenchReport:
    chip = PRESETS["validation"]
    columns = ("tiles", "published", "here", "its bytes on chip", "cycles found", "bytes on chip", "no worse in both")
    report = BenchReport("optimize-expert", "The tiled SwiGLU expert beside its 15 published points", columns)
    (subject,) = _subjects(_EXPERT)
    found, seconds = _optimized(subject, chip, pool, Goal.FRONT)
    met = 0
    for (rows, width), cycles in PUBLISHED.items():
        text = re.sub(r"TM, TN = \d+, \d+", f"TM, TN = {rows}, {width}", subject.text)
        (checked,) = check_text(text, subject.path, with_fixes=False).programs
        timed = time_program(checked, chip)  # up to 3 cycles from what was published
        memory, own = timed.on_chip or 0, timed.cycles or 0
        points = [each.figures for each in found.front if each.figures.on_chip <= memory]
        best = min(points, key=lambda each: each.cycles, default=None)
        good = best is not None and best.cycles <= own
        met += good
        shown = ("-", "-") if best is None else (f"{best.cycles:,}", f"{best.on_chip:,}")
        report.rows.append(
            [f"{rows} x {width}", f"{cycles:,}", f"{own:,}", f"{memory:,}", *shown, "yes" if good else "no"]
        )
    ratio = found.ratio or 0.0
    report.figures |= {"met": met, "ratio": ratio, "seconds": seconds, "tried": found.tried}
    report.goal("published points that one found here beats or equals in both", met, len(PUBLISHED), at_least=True)
    report.goal("the best over the bound", ratio, 1.15, "x")
    report.goal("processor time of the search", seconds, 60, " s")
    return report


def _all(pool: Pool) -> BenchReport:
    chip = PRESETS["paper"]
    columns = ("program", "cycles", "after", "times fewer", "of the bound", "steps", "tried", "s")
    report = BenchReport("optimize", "Programs of the repository, made faster on the chip `paper`", columns)
    gains: list[float] = []
    for path in (*sorted((ROOT / "examples").glob("*.py")), *sorted(TASKS.glob("*.step.yaml"))):
        for subject in _subjects(path):
            found, seconds = _optimized(subject, chip, pool)
            if found.best is None or found.old is None:
                report.rows.append([subject.name, "-", "-", "-", "-", found.problem or "it stopped", "", ""])
                continue
            after, gain = found.best.figures.cycles, found.old.cycles / found.best.figures.cycles
            gains.append(gain)
            report.rows.append([
                subject.name, f"{found.old.cycles:,}", f"{after:,}", f"{gain:.2f}", f"{found.ratio or 0:.3g}",
                str(len(found.best.steps)), str(found.tried), f"{seconds:.1f}",
            ])  # fmt: skip
            report.figures[f"{path.name}::{subject.name}"] = {
                "before": found.old.cycles,
                "after": after,
                "seconds": seconds,
            }
    mean = exp(sum(map(log, gains)) / len(gains))
    report.figures |= {"geometric mean": mean}
    report.goal("the least gain: nothing is slower", min(gains), 1, "x", at_least=True)
    report.goal("times fewer cycles, geometric mean", mean, 1, "x", at_least=True)
    return report
