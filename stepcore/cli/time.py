"""``stepsmith time``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import Any, TypeAlias

from stepcore.check.files import CheckResult, check_text, program_faults
from stepcore.check.programs import UNFOLLOWED, Checked
from stepcore.check.sized import at_dims
from stepcore.chips.chosen import Chips, is_chip
from stepcore.chips.keys import HardwareError
from stepcore.cli.targets import FileTarget, answer_to, find_targets, no_program, read_target
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, colours_wanted, complain
from stepcore.cycles.compare import compared, side_by_side
from stepcore.cycles.composed import (
    ComposedFile,
    composed_json,
    composed_picture,
    composition_at,
    subjects,
    time_composition,
)
from stepcore.cycles.findings import findings
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.report import TimedFile, as_json, picture
from stepcore.cycles.timed import STEPS, is_timeable, time_program
from stepcore.cycles.trace import trace
from stepcore.cycles.what_if import what_if
from stepcore.findings.diagnostics import Severity, StepError
from stepcore.jobdata.choices import TimingEngine
from stepcore.records import Record
from stepcore.reports.json import as_json as finding_json
from stepcore.reports.sarif import render_sarif
from stepcore.reports.text import FileReport, Paint, clean, render_finding
from stepcore.settings.config import Config, Configs
from stepcore.system.scarce import reason_of
from stepcore.text.files import Unusable, write_atomically
from stepcore.text.wording import clipped, one_line
from stepcore.timing.hardware import Hardware
from stepcore.timing.recorder import RunRecorder

_Run: TypeAlias = "tuple[TimedFile, RunRecorder]"
_Runs: TypeAlias = "Sequence[_Run | ComposedFile]"  # of one program or composition, on each chip


class TimeOptions(Record):
    """Options of the command; ``hw`` is None where the configuration decides, ``compare`` are two programs or chips.

    ``what_if``: show what better chips would bring. ``impl`` names answers to tasks, as ``verify`` takes them.
    """

    hw: str | None = None
    fluid: bool = False
    dims: dict[str, int] = field(default_factory=dict)
    format: str = "text"
    trace: str | None = None
    compare: tuple[str, str] | None = None
    what_if: bool = False
    impl: str | None = None

    @property
    def engine(self) -> TimingEngine:
        """The engine that was asked for."""
        return "fluid" if self.fluid else "exact"


def run(texts: Sequence[str], options: TimeOptions) -> int:
    """Time all programs of the targets, print what they take, and return the exit code: 1 where one stops."""
    are_chips = _are_chips(options.compare)
    if not texts and (options.compare is None or are_chips):
        complain("name the programs to time: a file, FILE::PROGRAM, or a folder")
        return EXIT_UNUSABLE
    problem = _contradiction(options, are_chips=are_chips)
    if problem:
        complain(problem)
        return EXIT_UNUSABLE
    session = _Session(options)
    try:
        for hw in _chips_of(options):
            session.chips.chip(Config(), hw)  # one that is unusable is told once, first
        if options.compare is None:
            session.time(texts)
        else:
            session.compare(texts, options.compare)
    except HardwareError as error:
        complain(unusable_chip(error))
        return EXIT_UNUSABLE
    return session.code


def _contradiction(options: TimeOptions, *, are_chips: bool) -> str:
    """Return which options exclude each other, and the way out; an empty text where all can be done."""
    if options.format == "sarif" and options.compare is not None:
        return "--compare has no findings to write as SARIF: leave --format out, or take json"
    if options.format == "sarif" and options.what_if:
        return "--what-if has no findings to write as SARIF: leave --format out, or take json"
    if options.what_if and options.compare is not None:
        return "--what-if and --compare are two questions: ask one of them"
    if options.hw is not None and are_chips:
        return "--compare names both chips: leave --hw out"
    if options.trace is not None and not options.trace.endswith(".json"):
        return "--trace writes a file whose name ends with .json"
    return ""


def _chips_of(options: TimeOptions) -> list[str]:
    compared = options.compare if options.compare is not None and _are_chips(options.compare) else ()
    return [hw for hw in (options.hw, *compared) if hw is not None]


def _are_chips(names: tuple[str, str] | None) -> bool:
    return names is not None and all(is_chip(name) for name in names)


@dataclass(slots=True)
class _Session:
    """One call: what it found so far, and its exit code."""

    options: TimeOptions
    configs: Configs = field(default_factory=Configs)
    chips: Chips = field(default_factory=Chips)
    code: int = EXIT_CLEAN

    def time(self, texts: Sequence[str]) -> None:
        """Show each program, then the compositions of its file; write the trace of them all."""
        found: list[_Run] = []
        rows: list[dict[str, Any]] = []
        for (one,) in self._each(texts, (self.options.hw,)):
            found += _recorded(one)
            if isinstance(one, ComposedFile):
                rows.append(composed_json(one))
                if self.options.format == "text":
                    self._show([*composed_picture(one), *_no_what_if(self.options)])
                continue
            file, _recorder = one
            if self.options.format == "text":
                self._show(picture(file))
                paint = Paint(colours_wanted(sys.stdout))
                print("".join(f"{render_finding(file.source, item, paint)}\n" for item in file.found or ()), end="")
            if self.options.format == "json":
                rows.append(_row(file))
        if self.options.format == "json":
            print(json.dumps(rows, indent=2))
        if self.options.format == "sarif":
            print(render_sarif(_reports(file for file, _recorder in found)), end="")
        if self.options.trace is not None and found:
            self._write(self.options.trace, found)

    def compare(self, texts: Sequence[str], names: tuple[str, str]) -> None:
        """Show pairs: each program on two chips, or two programs."""
        if _are_chips(names):
            pairs: list[_Runs] = list(self._each(texts, names))
        elif any(is_chip(name) for name in names):
            wrong = one_line(next(name for name in names if not is_chip(name)))
            what = f"{clipped(wrong, 80)} is neither a preset nor a .toml file"
            complain(f"--compare takes two programs or two chips, and not one of each: {what}")
            self.code = EXIT_UNUSABLE
            return
        else:
            runs = [run for name in names for run in self._single(name)]
            pairs = [runs] if len(runs) == len(names) else []
        shown = [tuple(run if isinstance(run, ComposedFile) else run[0] for run in pair) for pair in pairs]
        if self.options.format == "text":
            for one, other in shown:
                self._show(side_by_side(one, other))
        else:
            print(json.dumps([compared(one, other) for one, other in shown], indent=2))
        if self.options.trace is not None and pairs:
            self._write(self.options.trace, [run for pair in pairs for one in pair for run in _recorded(one)])

    def _single(self, text: str) -> _Runs:
        """Return the one program or composition that is meant, of a file its program; none after saying why not."""
        every = [run for runs in self._each([text], (self.options.hw,)) for run in runs]
        found = [run for run in every if not isinstance(run, ComposedFile)] or every
        if len(found) > 1:
            names = [run.name if isinstance(run, ComposedFile) else run[0].timed.name for run in found[:3]]
            named = ", ".join(f"{one_line(text)}::{one_line(name)}" for name in names)
            complain(f"{one_line(text)}: holds {len(found)} programs; name one of them: {named}")
            self.code = EXIT_UNUSABLE
        return found if len(found) == 1 else []

    def _each(self, texts: Sequence[str], chips: Sequence[str | None]) -> Iterator[_Runs]:
        """Yield each program, timed on each of ``chips``, and each composition; what cannot be timed is told."""
        for target in find_targets(texts):
            try:
                for runs in self._programs(target, chips):
                    if any(run.stopped if isinstance(run, ComposedFile) else _fails(run[0]) for run in runs):
                        self.code = max(self.code, EXIT_FINDINGS)
                    yield runs
            except Unusable as error:
                complain(f"{one_line(error.path)}: {error.code} {error.message}")
                self.code = EXIT_UNUSABLE

    def _programs(self, target: FileTarget | Unusable, chips: Sequence[str | None]) -> Iterator[_Runs]:
        if isinstance(target, Unusable):
            raise target
        file, config = read_target(target, self.configs)
        chosen = [self.chips.chip(config, hw) for hw in chips]
        answer = None if self.options.impl is None else answer_to(target, self.options.impl)
        impl = None if answer is None else (answer.text, answer.path)
        result = check_text(file.text, str(target.path), affine=config.affine, impl=impl)
        there = _programs_of(result)
        programs = [program for program in there if target.program in (None, program.name)]
        composed = [each for each in result.compositions if target.program in (None, each.name)]
        if not programs and not composed:
            if result.script is not None and not there:
                raise Unusable(target.path, UNFOLLOWED, "STEP907")
            names = [*(each.name for each in there), *(each.name for each in result.compositions)]
            raise no_program(target, result, names)
        for program in programs:
            sized = self._at_dims(target, result, program, config)
            runs = [self._timed(target, result, sized, chip) for chip in chosen]
            yield (
                runs
                if self.options.compare is not None
                else [(_examined(run, result, config), rec) for run, rec in runs]
            )
        if composed:
            yield from self._composed(target, result, config, chosen)

    def _at_dims(self, target: FileTarget, result: CheckResult, program: Checked, config: Config) -> Checked:
        if program is result.script and self.options.dims:
            raise Unusable(target.path, "--dims has no effect on a script, which binds its sizes itself", "STEP907")
        try:
            return at_dims(result, program, self.options.dims, config.affine)
        except StepError as error:
            raise Unusable(target.path, error.message, error.code) from error

    def _composed(
        self, target: FileTarget, result: CheckResult, config: Config, chips: Sequence[Hardware]
    ) -> Iterator[list[ComposedFile]]:
        """Time the compositions that are meant. Of a whole file the trace holds the programs as they are."""
        record = self.options.trace is not None and target.program is not None
        for subject in subjects(result, str(target.path), config.affine):
            if target.program not in (None, subject.composition.name):
                continue
            try:
                sized = replace(subject, composition=composition_at(subject.composition, self.options.dims))
                yield [time_composition(sized, chip, self.options.engine, record=record) for chip in chips]
            except StepError as error:
                raise Unusable(target.path, error.message, error.code) from error
            except NotTimed as error:
                name = subject.composition.name
                raise Unusable(target.path, f"{name} cannot be timed: {error}", "STEP907") from error

    def _timed(
        self, target: FileTarget, result: CheckResult, checked: Checked, chip: Hardware
    ) -> tuple[TimedFile, RunRecorder]:
        if not is_right(result, checked) and checked.undecided is None:
            how = "check" if self.options.impl is None else f"verify --impl {quote(self.options.impl)}"
            raise Unusable(target.path, f"{one_line(checked.name)} has errors: run `stepsmith {how}`", "STEP910")
        recorder, wanted = RunRecorder(), self.options.trace is not None
        try:
            timed = time_program(checked, chip, self.options.engine, recorder=recorder if wanted else None)
        except NotTimed as error:
            raise Unusable(target.path, f"{one_line(checked.name)} cannot be timed: {error}", "STEP907") from error
        better = what_if(checked, timed, STEPS) if self.options.what_if else None
        return TimedFile(str(target.path), result.program_source, timed, better=better), recorder

    def _show(self, lines: Iterable[str]) -> None:
        print("\n".join(map(one_line, lines)), end="\n\n")

    def _write(self, name: str, found: Sequence[tuple[TimedFile, RunRecorder]]) -> None:
        try:
            write_atomically(Path(name), json.dumps(trace(found), separators=(",", ":")).encode())
        except (OSError, ValueError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else "this is no path of a file"
            complain(f"{one_line(name)}: STEP901 the trace cannot be written: {reason}")
            self.code = EXIT_UNUSABLE


def _no_what_if(options: TimeOptions) -> list[str]:
    return ["  what if: asked of its programs, one by one"] if options.what_if else []


def _programs_of(result: CheckResult) -> list[Checked]:
    """Return the programs of a file; a script that can be followed, or has errors to be told, is one."""
    script = result.script
    if script is None:
        return result.programs
    wrong = any(item.severity is Severity.ERROR for item in script.diagnostics)
    return [script] if wrong or script.runnable else []


def _recorded(one: _Run | ComposedFile) -> list[_Run]:
    """Return what was recorded: of a composition, its lines that differ."""
    if not isinstance(one, ComposedFile):
        return [one]
    return [(line.file, line.recorder) for line in one.different if line.recorder is not None]


def is_right(result: CheckResult, checked: Checked) -> bool:
    """Return whether a program has no errors, those of its file that concern it included."""
    return is_timeable(checked) and not program_faults(result, checked)


def _examined(file: TimedFile, result: CheckResult, config: Config) -> TimedFile:
    """Return a timed program with its findings, as the project wants them."""
    return replace(file, found=tuple(config.apply(findings(file.timed, result))))


def _fails(file: TimedFile) -> bool:
    return file.timed.cycles is None or any(item.severity.counts for item in file.found or ())


def _row(file: TimedFile) -> dict[str, Any]:
    return {**as_json(file), "diagnostics": [finding_json(file.source, item) for item in file.found or ()]}


def _reports(files: Iterable[TimedFile]) -> list[FileReport]:
    """Return the findings of each file, whose programs were timed one after the other."""
    found: dict[str, FileReport] = {}
    for file in files:
        found.setdefault(file.path, FileReport(file.source)).diagnostics.extend(file.found or ())
    return list(found.values())


def unusable_chip(error: HardwareError) -> str:
    """Return what is said of a chip that cannot be used: where it stands, and the reason."""
    return f"{error.place}: STEP506 {clean(str(error))}" if error.place else f"STEP506 {clean(str(error))}"
