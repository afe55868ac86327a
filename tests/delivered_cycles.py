"""What programs that synthesis delivered take on a chip: cycles, or a stop with what cures it, which is tried."""

from __future__ import annotations

from typing import NamedTuple

from stepcore.check.files import CheckResult, check_text
from stepcore.check.programs import Checked
from stepcore.cli.beside import STEPS
from stepcore.cycles.composed import subjects, time_composition
from stepcore.cycles.findings import findings
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import Timed, time_program
from stepcore.findings.diagnostics import apply_edits
from stepcore.timing.exact import run
from stepcore.timing.hardware import PRESETS
from stepcore.timing.stops import with_depths


class Outcome(NamedTuple):
    """``cycles`` of a file, those with deeper FIFOs where it is ``cured``; ``problem`` says why there are none."""

    cycles: int | None
    cured: bool = False
    problem: str = ""


def outcome(text: str, path: str, chip: str = "default") -> Outcome:
    """Time a delivered file, by the composition of its programs where there are several; a cure is tried."""
    result = check_text(text, path)
    try:
        if result.compositions:
            (subject,) = subjects(result, path, "strict")
            whole = time_composition(subject, PRESETS[chip], budget=len(result.programs) * STEPS)
            if whole.stopped is None:
                return Outcome(whole.cycles)
            return _sum([_outcome(result, line.file.timed) for line in whole.lines])
        (program,) = result.programs
        return _outcome(result, _timed(program, chip))
    except NotTimed as error:
        return Outcome(None, problem=str(error))


def _timed(program: Checked, chip: str) -> Timed:
    return time_program(program, PRESETS[chip], budget=STEPS)


def _sum(parts: list[Outcome]) -> Outcome:
    missing = next((part for part in parts if part.cycles is None), None)
    cycles = sum(part.cycles or 0 for part in parts)
    return missing or Outcome(cycles, any(part.cured for part in parts))


def _outcome(result: CheckResult, timed: Timed) -> Outcome:
    if timed.cycles is not None:
        return Outcome(timed.cycles)
    if not timed.cure:
        return Outcome(None, problem=f"stops at cycle {timed.timing.cycles:,}, and no depths are told that cure it")
    again = run(with_depths(timed.program.network, timed.cure), limit=STEPS)
    if again.waiting:
        return Outcome(None, problem=f"stops at cycle {again.cycles:,} with the depths that were told to cure it")
    found = [item for item in findings(timed, result, 0) if item.code == "STEP502"]
    if [item.fix for item in found if item.fix is not None]:  # FIFOs of inputs have no operator that says a depth
        source = result.program_source
        edited = apply_edits(source.text, [edit for item in found if item.fix is not None for edit in item.fix.edits])
        (fixed,) = (each for each in check_text(edited, source.path).programs if each.name == timed.name)
        cycles = _timed(fixed, timed.hardware.name).cycles
        if not result.compositions and cycles != again.cycles:
            return Outcome(None, problem=f"takes {cycles} cycles with the fix, and {again.cycles} with its depths")
    return Outcome(again.cycles, cured=True)
