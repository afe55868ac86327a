"""What was found for programs, by which chip, and the jobs that find it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepcore.chips.reader import read_hardware
from stepcore.ide import timed
from stepcore.jobdata.choices import TimingEngine
from stepcore.jobdata.timing import ProgramTimes
from stepcore.text.span import Span
from stepcore.timing.hardware import PRESETS, Hardware

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis


@dataclass(frozen=True, slots=True)
class ChipInForce:
    """A chip as workers get it, who chose it, and why what was chosen cannot be used ("": it can)."""

    name: str
    text: str | None = None
    origin: str = ""
    problem: str = ""

    @property
    def hardware(self) -> Hardware:
        """The chip; only where there is no ``problem``."""
        return PRESETS[self.name] if self.text is None else read_hardware(self.text, self.name)


@dataclass(frozen=True, slots=True)
class ToldCycles:
    """The cycles of a program that comes to its end, by their bound where that is known, and a line about them."""

    cycles: int | None = None
    ratio: float | None = None
    line: str = ""


@dataclass(frozen=True, slots=True)
class TimedRun:
    """What was found for a program, and what it depends on."""

    times: ProgramTimes
    chip: ChipInForce

    @property
    def is_fluid(self) -> bool:
        """Whether its figures are estimates."""
        return self.times.engine == "fluid"


@dataclass(frozen=True, slots=True)
class TimedLens:
    """A line above a program, whose head is ``span``; a click shows the timeline of ``program``, if there is one."""

    span: Span
    title: str
    program: str


@dataclass(slots=True)
class TimingJob:
    """A document that is being timed: its text, and the engine that was asked for."""

    revision: int
    engine: TimingEngine
    chip: ChipInForce
    task: asyncio.Task[None] | None = None


def text_mark(analysis: Analysis, name: str) -> str:
    """Return a text that changes with anything that the cycles of a program or composition depend on."""
    unit = analysis.program(name)
    if unit is not None:
        return unit.fingerprint
    marks = (timed.composition_mark(analysis, each) for each in analysis.compositions if each.checked.name == name)
    return next(marks, "")
