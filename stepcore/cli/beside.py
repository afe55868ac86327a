"""Cycles beside a verdict: what the timing of a file's programs says while its programs are run.

Timing never changes a verdict, and what would take long is not waited for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, Final

from stepcore.check.files import CheckResult, check_text
from stepcore.check.programs import Checked
from stepcore.check.sized import at_dims
from stepcore.chips.chosen import Chips
from stepcore.chips.keys import HardwareError
from stepcore.cli.time import is_right, unusable_chip
from stepcore.cycles.composed import (
    ComposedFile,
    ComposedSubject,
    composed_brief,
    composed_json,
    composed_memory,
    composed_picture,
    composed_summary,
    composition_at,
    subjects,
    time_composition,
)
from stepcore.cycles.program_network import NotTimed, OrderNotRun
from stepcore.cycles.report import TimedFile, as_brief, as_json, memory_text, picture, summary
from stepcore.cycles.routes import ProgramRoutes
from stepcore.cycles.timed import STEPS as MOST_STEPS
from stepcore.cycles.timed import time_program
from stepcore.findings.diagnostics import StepError
from stepcore.jobdata.programs import VerifyRequest
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.settings.config import Config
from stepcore.timing.exact import TooLong

STEPS: Final = 10_000_000  # of units: ten seconds without machine code
VERDICT_STEPS: Final = 2_000_000  # where somebody waits for a verdict, which timing does not change


class Beside(Record):
    """The timing of one program, or the ``problem`` why there is none.

    ``order`` is what arrival decided, by node; None where that is not known of the data of the run.
    """

    file: TimedFile | None = None
    problem: str = ""
    order: Mapping[int, tuple[int, ...]] | None = None

    @property
    def cycles(self) -> int | None:
        """The cycles; None where the program stopped, or was not timed."""
        return None if self.file is None else self.file.timed.cycles

    @property
    def line(self) -> str:
        """One line for people."""
        return f"not timed: {clean(self.problem)}" if self.file is None else clean(summary(self.file))

    @property
    def memory(self) -> str:
        """What moves off chip and what stays on chip, in words; empty where there is no timing."""
        return "" if self.file is None else clean(memory_text(self.file.timed))

    @property
    def picture(self) -> list[str]:
        """What ``stepsmith time`` shows."""
        return [f"cycles: {self.line}"] if self.file is None else [clean(line) for line in picture(self.file)]

    def as_row(self) -> dict[str, Any]:
        """Return the row of ``stepsmith time``, or the problem."""
        return {"problem": self.problem} if self.file is None else as_json(self.file)

    def as_json(self) -> dict[str, Any]:
        """Return the same as plain data: either ``problem`` or all others are None."""
        if self.file is not None:
            return as_brief(self.file)
        keys = ("hw", "engine", "cycles", "bottleneck", "off_chip_bytes", "share_of_bandwidth", "on_chip_bytes")
        return {**dict.fromkeys((*keys, "bound", "stopped")), "problem": self.problem}


class BesideComposition(Beside):
    """The timing of a composition, ``whole``."""

    whole: ComposedFile | None = None

    @property
    def cycles(self) -> int | None:
        """The cycles of all its programs; None where one stops, or was not timed."""
        return None if self.whole is None else self.whole.cycles

    @property
    def line(self) -> str:
        """One line for people."""
        return f"not timed: {clean(self.problem)}" if self.whole is None else clean(composed_summary(self.whole))

    @property
    def memory(self) -> str:
        """What moves off chip and what stays on chip, in words; empty where there is no timing."""
        return "" if self.whole is None else clean(composed_memory(self.whole))

    @property
    def picture(self) -> list[str]:
        """What ``stepsmith time`` shows."""
        if self.whole is None:
            return [f"cycles: {self.line}"]
        return [clean(line) for line in composed_picture(self.whole)]

    def as_row(self) -> dict[str, Any]:
        """Return the row of ``stepsmith time``, or the problem."""
        return {"problem": self.problem} if self.whole is None else composed_json(self.whole)

    def as_json(self) -> dict[str, Any]:
        """Return the same as plain data."""
        return Beside.as_json(self) if self.whole is None else composed_brief(self.whole)


class TimingWishes(Record):
    """How to time: ``hw`` is a chip instead of the project's, ``routes`` are those of a run, where there was one.

    ``chips`` are those that the command has read.
    """

    hw: str | None = None
    steps: int = STEPS
    routes: ProgramRoutes | None = None
    chips: Chips = field(default_factory=Chips)


def beside(request: VerifyRequest, config: Config, wishes: TimingWishes | None = None) -> dict[str, Beside]:
    """Return by name what is said of the programs of a file and its compositions; nothing of those that have errors."""
    wishes = wishes or TimingWishes()
    result, programs = right_programs(request)
    found = {program.name: beside_program(result, program, request, config, wishes) for program in programs}
    for subject in subjects(result, request.path, request.affine):
        if request.program in (None, subject.composition.name) and subject.is_right:
            found[subject.composition.name] = beside_composition(subject, request, config, wishes)
    return found


def right_programs(request: VerifyRequest) -> tuple[CheckResult, list[Checked]]:
    """Check a file; return what was found, and those of the programs that are asked for that have no errors."""
    impl = None if request.impl is None else (request.impl.text, request.impl.path)
    result = check_text(request.text, request.path, affine=request.affine, impl=impl, with_fixes=False)
    asked = (program for program in result.programs if request.program in (None, program.name))
    return result, [program for program in asked if is_right(result, program)]


def beside_program(
    result: CheckResult, program: Checked, request: VerifyRequest, config: Config, wishes: TimingWishes | None = None
) -> Beside:
    """Return what is said of one of the :func:`right_programs`."""
    wishes = wishes or TimingWishes()
    try:
        chip = wishes.chips.chip(config, wishes.hw)
        sized = at_dims(result, program, request.dims, request.affine)
        timed = time_program(sized, chip, budget=wishes.steps, routes=wishes.routes)
        order = timed.arrival if timed.program.routes in ("none", "run") else None  # else of other data
        return Beside(TimedFile(request.path, result.program_source, timed), order=order)
    except OrderNotRun as error:
        return Beside(problem=str(error), order=error.order)
    except _UNTIMED as error:
        return Beside(problem=_reason(error, wishes))


def beside_composition(
    subject: ComposedSubject, request: VerifyRequest, config: Config, wishes: TimingWishes | None = None
) -> Beside:
    """Return what is said of a composition of the file of ``request``."""
    wishes = wishes or TimingWishes()
    try:
        chip = wishes.chips.chip(config, wishes.hw)
        sized = replace(subject, composition=composition_at(subject.composition, request.dims))
        return BesideComposition(whole=time_composition(sized, chip, budget=wishes.steps))
    except _UNTIMED as error:
        return BesideComposition(problem=_reason(error, wishes))


_UNTIMED: Final = (HardwareError, StepError, NotTimed)


def _reason(error: Exception, wishes: TimingWishes) -> str:
    if isinstance(error, HardwareError):
        return unusable_chip(error)
    longer = "; `stepsmith time` goes on for longer"
    is_short = wishes.steps < MOST_STEPS and isinstance(error.__cause__, TooLong)
    return error.message if isinstance(error, StepError) else f"{error}{longer * is_short}"
