"""What `stepsmith optimize` tells of one program: the best that was verified, the front, and the steps to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from stepagents.experience.optimizations import OptimizationItem
from stepagents.optimize.candidates import FasterText, OptimizeStep
from stepcore.jobdata.optimizing import Figures, ModelProposal
from stepcore.records import Record
from stepcore.text.wording import counted, times_text

Ended: TypeAlias = Literal["", "stopped", "time"]


class Optimized(Record):
    """One program that was optimized. ``old`` is None where it stopped, ``best`` where nothing that is right runs.

    ``front`` was verified, all of it. ``problem`` says why there is nothing; ``refused`` what was found and not shown,
    because it did not verify, or was not looked for, and why. ``ended`` is why search or verification ended early,
    ``tried`` how many texts were tried, ``learned`` what is worth remembering, ``proposals`` what a model proposed.
    """

    path: str
    program: str
    hw: str
    text: str
    old: Figures | None = None
    best: FasterText | None = None
    front: Sequence[FasterText] = ()
    bound: int | None = None
    bound_by: str = ""
    compulsory: int | None = None
    seconds: float = 0.0
    tried: int = 0
    ended: Ended = ""
    refused: Sequence[str] = ()
    learned: Sequence[OptimizationItem] = ()
    proposals: Sequence[ModelProposal] = ()
    problem: str = ""
    interrupted: bool = False

    @property
    def is_faster(self) -> bool:
        """Whether there is a text to write."""
        return self.best is not None and self.best.text != self.text

    @property
    def ratio(self) -> float | None:
        """How many times the bound the best takes."""
        return None if self.best is None or not self.bound else self.best.figures.cycles / self.bound

    def as_json(self) -> dict[str, Any]:
        """Return the object that the command prints for a program."""
        figures = None if self.best is None else self.best.figures
        return {
            "path": self.path,
            "program": self.program,
            "hw": self.hw,
            "verified": self.best is not None,
            "cycles_before": None if self.old is None else self.old.cycles,
            "cycles": None if figures is None else figures.cycles,
            "bound": self.bound,
            "bound_by": self.bound_by,
            "on_chip_bytes": None if figures is None else figures.on_chip,
            "off_chip_bytes": None if figures is None else figures.off_chip,
            "compulsory_bytes": self.compulsory,
            "seconds": round(self.seconds, 3),
            "ended": self.ended or None,
            "problem": self.problem or None,
            "remarks": list(self.refused),
            "front": [_point(each) for each in self.front],
            "steps": [_step(each) for each in (() if self.best is None else self.best.steps)],
        }


def _point(candidate: FasterText) -> dict[str, Any]:
    figures = candidate.figures
    return {
        "cycles": figures.cycles,
        "on_chip_bytes": figures.on_chip,
        "off_chip_bytes": figures.off_chip,
        "steps": [step.sentence for step in candidate.steps],
    }


def _step(step: OptimizeStep) -> dict[str, Any]:
    return {
        "rewrite": step.rewrite,
        "what": step.sentence,
        "cycles_before": None if step.before is None else step.before.cycles,
        "cycles": step.after.cycles,
        "on_chip_bytes": step.after.on_chip,
        "off_chip_bytes": step.after.off_chip,
        "brought": brought(step),
    }


def brought(step: OptimizeStep) -> str:
    """Return what a step brought, in words: `2.1x, -41 % bytes off chip, +12 % on chip`."""
    before, after = step.before, step.after
    if before is None:
        return f"it runs to its end: {after.cycles:,} cycles"
    parts = [_times(before.cycles, after.cycles)]
    parts += _change(before.off_chip, after.off_chip, "bytes off chip") + _change(
        before.on_chip, after.on_chip, "on chip"
    )
    return ", ".join(parts)


def _times(before: int, after: int) -> str:
    """Return how many times as fast it is, or by how many cycles where that would read `1x`."""
    if before == after:
        return "as many cycles"
    times = times_text(before / max(after, 1))
    if times != times_text(1):
        return times
    return f"{counted(abs(before - after), 'cycle')} {'fewer' if after < before else 'more'}"


def _change(before: int, after: int, what: str) -> list[str]:
    share = round(100 * (after - before) / before) if before else 0
    return [f"{share:+d} % {what}"] if share else []
