"""Documents that are timed again and again: what an edit leaves alone is neither checked nor timed anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from stepcore.chips.keys import HardwareError
from stepcore.chips.reader import read_hardware
from stepcore.cycles.findings import findings
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.report import TimedFile
from stepcore.cycles.timed import STEPS, time_program
from stepcore.cycles.trace import trace
from stepcore.ide.analysis import Analysis, PlacedComposition, analyze
from stepcore.ide.timed import composition_mark
from stepcore.ide.units import DocumentUnit
from stepcore.jobdata.choices import TimingEngine
from stepcore.jobdata.timing import (
    ProgramTimes,
    TimeRequest,
    TimeResult,
    TimingRow,
    TimingSubject,
    TraceRequest,
    TraceResult,
)
from stepcore.timer.rows import row_of
from stepcore.timing.hardware import PRESETS, Hardware
from stepcore.timing.recorder import RunRecorder

_DOCUMENTS: Final = 4  # whose analyses are kept
_RESULTS: Final = 256  # of programs
_FLUID_STEPS: Final = 400_000  # of units, while somebody types: a tenth of a second
_COMPOSED_STEPS: Final = 10_000_000  # for all programs of a composition
_TRIAL_STEPS: Final = 300_000  # for what deeper FIFOs would save: figures wait for them
_MOST: Final = (40_000, 24_000)  # spans of units and passes of FIFOs that a timeline draws
_Key: TypeAlias = "tuple[str, str, str | None, TimingEngine]"  # the program, the chip, the engine


class TimedDocuments:
    """Analyses of the documents that were timed last, and the results for their programs."""

    def __init__(self) -> None:
        self._analyses: dict[str, Analysis] = {}
        self._results: dict[_Key, tuple[TimingRow | None, str]] = {}

    def time(self, request: TimeRequest, check: Callable[[], None]) -> TimeResult:
        """Time the programs of a document that are not ``known``; ``check()`` raises when nobody waits any more.

        Compositions are timed by the exact engine alone: nobody waits for them who types.

        Raises:
            HardwareError: the chip's description cannot be used.
        """
        chip = chip_of(request)
        analysis = self._analysis(request)
        done: list[ProgramTimes] = []
        for unit in analysis.units if analysis.script is None else [analysis.script]:
            checked = unit.checked
            if checked is None or unit.fingerprint in request.known:
                continue
            check()
            row, problem = self._result(unit, chip, request)
            done.append(ProgramTimes(checked.name, unit.fingerprint, request.engine, row, problem))
        for placed in analysis.compositions if request.engine == "exact" else ():
            mark = composition_mark(analysis, placed)
            if mark and mark not in request.known:
                check()
                done.append(_composed(analysis, placed, mark, chip, request))
        return TimeResult(chip.name, tuple(done))

    def trace(self, request: TraceRequest) -> TraceResult:
        """Record one program of a document.

        Raises:
            HardwareError: the chip's description cannot be used.
        """
        chip = chip_of(request)
        analysis = self._analysis(request)
        unit = analysis.program(request.program)
        if unit is None or unit.checked is None:
            return TraceResult(chip.name, 0, False, None, problem=f"there is no program {request.program} any more")
        recorder = RunRecorder(most=_MOST)
        try:
            timed = time_program(unit.checked, chip, "exact", STEPS, recorder=recorder)
        except NotTimed as error:
            return TraceResult(chip.name, 0, False, None, problem=str(error))
        file = TimedFile(request.path, analysis.source, timed, place=unit.to_document, before=request.before)
        lines = tuple(file.line(number) or 0 for number in range(len(timed.timing.units)))
        return TraceResult(chip.name, timed.timing.cycles, timed.cycles is None, trace([(file, recorder)]), lines)

    def _analysis(self, request: TimingSubject) -> Analysis:
        task = None if request.task is None else (request.task.text, request.task.path)
        previous = self._analyses.pop(request.path, None)
        found = analyze(request.text, request.path, affine=request.affine, task=task, previous=previous)
        self._analyses[request.path] = found
        while len(self._analyses) > _DOCUMENTS:
            del self._analyses[next(iter(self._analyses))]
        return found

    def _result(self, unit: DocumentUnit, chip: Hardware, request: TimeRequest) -> tuple[TimingRow | None, str]:
        key = unit.fingerprint, request.chip, request.chip_text, request.engine
        found = self._results.pop(key, None) or _timed(unit, chip, request.engine)
        self._results[key] = found
        while len(self._results) > _RESULTS:
            del self._results[next(iter(self._results))]
        return found


def _timed(unit: DocumentUnit, chip: Hardware, engine: TimingEngine) -> tuple[TimingRow | None, str]:
    checked = unit.checked
    assert checked is not None, "only programs are timed"
    try:
        timed = time_program(checked, chip, engine, _FLUID_STEPS if engine == "fluid" else STEPS)
    except NotTimed as error:
        return None, str(error)
    if engine == "fluid":  # an estimate is no reason for a finding, and whoever types has others
        return row_of(timed, []), ""
    return row_of(timed, findings(timed, unit.result, _TRIAL_STEPS)), ""


def _composed(
    analysis: Analysis, placed: PlacedComposition, mark: str, chip: Hardware, request: TimeRequest
) -> ProgramTimes:
    """Time a composition; its programs were timed before, but at their own sizes."""
    from stepcore.cycles.composed import ComposedSubject, composed_line, time_composition  # few documents have any

    programs = {unit.checked.name: (unit.result, unit.checked) for unit in analysis.units if unit.checked is not None}
    subject = ComposedSubject(placed.checked, programs, request.path, analysis.source, request.affine)
    name = placed.checked.name
    try:
        found = time_composition(subject, chip, request.engine, _COMPOSED_STEPS)
    except NotTimed as error:
        return ProgramTimes(name, mark, request.engine, None, str(error))
    return ProgramTimes(name, mark, request.engine, None, "", composed_line(found), found.cycles, found.longest.program)


def chip_of(request: TimingSubject) -> Hardware:
    """Return the chip of a request.

    Raises:
        HardwareError: its description cannot be used, or there is none of its name.
    """
    if request.chip_text is not None:
        return read_hardware(request.chip_text, request.chip)
    if request.chip not in PRESETS:
        raise HardwareError(f"there is no chip {request.chip}")
    return PRESETS[request.chip]
