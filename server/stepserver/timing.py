"""The one model of how fast each program is: timed, being timed, outdated, stopped, or not timed and why.

Every view follows the rows that :meth:`TimingStatus.rows` makes. A figure belongs to the text of its program (by the
fingerprint of its unit) and to a chip; when one of them differs it is outdated, and an edit elsewhere leaves it as it
is. While somebody types the fluid engine answers, for a text that was opened or saved the exact one. What was edited is
shown as outdated only when no answer has come for a moment, because figures that flicker help nobody. Notebooks and
what is on no disk yet have no save that counts: they are timed exactly once nobody has typed for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types
from pygls.uris import to_fs_path

from stepcore.chips.chosen import SUFFIX, chosen_chip
from stepcore.chips.keys import HardwareError
from stepcore.chips.reader import read_hardware
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity
from stepcore.ide import timed
from stepcore.ide.actions import QUICKFIX
from stepcore.ide.model import Action, ProgramInfo
from stepcore.ide.programs import drawn_programs
from stepcore.jobdata.choices import TimingEngine
from stepcore.jobdata.editor import (
    GraphResult,
    PlainPosition,
    ProgramTiming,
    TimelineResult,
    TimingFigure,
    TimingParams,
    TimingState,
)
from stepcore.jobdata.programs import AnswerFile
from stepcore.jobdata.timing import FindingRow, ProgramTimes, TimeRequest, TimingRow, TraceRequest
from stepcore.jobs import JobCancelled, JobError
from stepcore.text.files import Unusable, read_file
from stepcore.text.span import Span
from stepcore.timing.hardware import PRESETS, Hardware
from stepserver.convert import Converter
from stepserver.documents import Module
from stepserver.loop import Loop
from stepserver.simulation import Around, plain_range
from stepserver.timers import Timers

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis

TIMING: Final = "stepsmith/timing"
_QUIET: Final = 0.04  # seconds without an edit, after which programs are timed
_SETTLED: Final = 1.5  # seconds without an edit, after which what has no save is timed exactly
_PATIENCE: Final = 0.4  # until figures of an earlier text are shown as such
_PLAIN: Final = "default"


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
class _Job:
    """A document that is being timed: its text, and the engine that was asked for."""

    revision: int
    engine: TimingEngine
    chip: ChipInForce
    task: asyncio.Task[None] | None = None


class TimingStatus:
    """The figures of all programs of all open modules. ``follow`` watches files that describe chips."""

    def __init__(self, around: Around, timers: Timers, loop: Loop, follow: Callable[[Iterable[str]], None]) -> None:
        self._around = around
        self._timers = timers
        self._loop = loop
        self._follow = follow
        self._runs: dict[str, dict[str, TimedRun]] = {}  # by module, by program
        self._saved: dict[str, int] = {}  # the revision that is on disk
        self._jobs: dict[str, _Job] = {}
        self._due: dict[str, Module] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._hidden: set[str] = set()  # modules whose outdated figures are not shown as such yet
        self._chips: dict[tuple[str | None, str, str], ChipInForce] = {}
        self._sent: dict[str, dict[str, TimingParams]] = {}  # by module, by text
        self._titles: dict[str, list[str]] = {}  # of the lines above programs that were shown

    # -- what is known ------------------------------------------------------------------------------------------

    def _is_timed(self, module: Module) -> bool:
        return self._around.workspace.is_timed(module.uri)

    def chip(self, module: Module) -> ChipInForce:
        """Return the chip for a module: the one that the user set, else that of the project's configuration."""
        setting = self._around.workspace.settings_of(module.uri).timing_hw
        config = self._around.projects.project(module).config
        key = setting, str(config.path), f"{config.hw} {self._around.workspace.folder_of(module.uri)}"
        if key not in self._chips:
            self._chips[key] = self._read_chip(module, setting)
        return self._chips[key]

    def params(self, module: Module, analysis: Analysis) -> dict[str, TimingParams]:
        """Return what the client is told of each text of a module: of a document, or of the cells of a notebook."""
        chip = self.chip(module)
        rows: dict[str, list[ProgramTiming]] = {text.uri: [] for text in module.texts}
        if self._is_timed(module):
            for uri, row in self.rows(module, analysis):
                rows[uri].append(row)
        told = (chip.name, chip.origin, chip.problem)
        return {text.uri: TimingParams(text.uri, text.version, *told, tuple(rows[text.uri])) for text in module.texts}

    def rows(self, module: Module, analysis: Analysis) -> Iterable[tuple[str, ProgramTiming]]:
        """Yield what the client shows for each program, and in which text."""
        convert = Converter(self._around.workspace, module)
        for info in drawn_programs(analysis):
            run = self._runs.get(module.uri, {}).get(info.name)
            uri = _text_of(module, info.head.start)
            if uri:
                yield uri, self._row(convert, module, analysis, info, run)

    def has_cycles(self, module: Module, name: str) -> bool:
        """Return whether a program was timed, as it is now or before an edit; one that stopped was, too."""
        run = self._runs.get(module.uri, {}).get(name)
        return run is not None and run.times.row is not None

    def held(self, module: Module, analysis: Analysis, name: str) -> tuple[TimingRow, bool] | None:
        """Return the figures of a program that hold for its present text, and whether they are estimates."""
        run = self._runs.get(module.uri, {}).get(name)
        if run is None or run.times.row is None or not self._is_timed(module) or self._outdated(module, analysis, run):
            return None
        return run.times.row, run.is_fluid

    def at(self, module: Module, analysis: Analysis, offset: int) -> str:
        """Return Markdown about the operator around an offset; empty where nothing that holds is known."""
        unit = analysis.script or (analysis.unit_at(offset) if module.uri in self._runs else None)
        name = None if unit is None or unit.checked is None else unit.checked.name
        found = None if name is None else self.held(module, analysis, name)
        if found is None or name is None:
            return ""
        return timed.node_text(analysis, name, found[0], offset, is_fluid=found[1])

    def figures(self, module: Module, analysis: Analysis) -> list[timed.TimedFigure]:
        """Return the figures of all programs whose text they are of."""
        found: list[timed.TimedFigure] = []
        for name in self._runs.get(module.uri, {}):
            held = self.held(module, analysis, name)
            found += [] if held is None else timed.figures(analysis, name, held[0], is_fluid=held[1])
        return found

    def drawn(self, module: Module, analysis: Analysis, graph: GraphResult) -> GraphResult:
        """Return a drawn program with the figures of its nodes and streams; as it is where there are none."""
        run = self._runs.get(module.uri, {}).get(graph.program)
        if run is None or run.times.row is None or not self._is_timed(module):
            return graph
        is_stale = bool(self._outdated(module, analysis, run)) and module.uri not in self._hidden
        return timed.drawn(analysis, graph, run.times.row, run.chip.name, is_fluid=run.is_fluid, is_stale=is_stale)

    def lenses(self, module: Module, analysis: Analysis) -> list[TimedLens]:
        """Return the lines above programs, scripts and compositions: cycles and what rules, or why there are none."""
        if not self._is_timed(module):
            return []
        problem, runs = self.chip(module).problem, self._runs.get(module.uri, {})
        if not problem and not runs:
            return []  # while the first programs are being timed
        heads = [(info.name, info.head) for info in drawn_programs(analysis)]
        heads += [(placed.checked.name, placed.extent) for placed in analysis.compositions]
        if problem:
            return [TimedLens(head, f"not timed: {problem}", _drawn_by(runs.get(name))) for name, head in heads]
        known = ((head, runs[name]) for name, head in heads if name in runs)
        found = ((head, self._title(module, analysis, run), run) for head, run in known)
        return [TimedLens(head, title, _drawn_by(run)) for head, title, run in found if title]

    def _title(self, module: Module, analysis: Analysis, run: TimedRun) -> str:
        """Return what is said of a program; empty where its findings say enough."""
        because = self._outdated(module, analysis, run)
        row = run.times.row
        if row is None and not run.times.text:
            return f"not timed: {run.times.problem}" if run.times.problem and not because else ""
        text = run.times.text if row is None else timed.lens_text(row, is_fluid=run.is_fluid)
        return f"outdated: {text}" if because and module.uri not in self._hidden else text

    def diagnostics(self, module: Module, analysis: Analysis) -> list[Diagnostic]:
        """Return the findings of timed programs, of those that hold for the present text."""
        found: list[Diagnostic] = []
        for name in self._runs.get(module.uri, {}):
            held, unit = self.held(module, analysis, name), analysis.program(name)
            if held is not None and unit is not None:
                moved = (unit.moved(_diagnostic(row)) for row in held[0].findings)
                found += [item for item in moved if item is not None]
        return found

    def actions(self, module: Module, analysis: Analysis, span: Span) -> list[Action]:
        """Return the fixes of findings that touch a region; each was tried by a run."""
        return [
            Action(found.fix.title, QUICKFIX, found.fix.edits, (found,), is_preferred=True)
            for found in self.diagnostics(module, analysis)
            if found.fix is not None and found.span.start <= span.end and span.start <= found.span.end
        ]

    def _outdated(self, module: Module, analysis: Analysis, run: TimedRun) -> str:
        """Return why figures are not those of a program as it is now; "" where they are."""
        if _mark(analysis, run.times.program) != run.times.fingerprint:
            return "the text changed"
        return "" if run.chip == self.chip(module) else "another chip was chosen"

    def _row(
        self, convert: Converter, module: Module, analysis: Analysis, info: ProgramInfo, run: TimedRun | None
    ) -> ProgramTiming:
        job, place = self._jobs.get(module.uri), plain_range(convert.corners(info.head))
        engine: TimingEngine = "exact" if run is None else run.times.engine
        because = "" if run is None else self._outdated(module, analysis, run)
        state: TimingState = "timing"
        problem = timed.why_untimed(analysis, info)
        if run is None or run.times.row is None:
            if run is not None and not because:
                problem = run.times.problem
            if problem or job is None:
                state = "untimed"
            return ProgramTiming(info.name, place, state, engine, problem, None, False, "", ())
        row, is_fluid = run.times.row, run.is_fluid
        head = timed.headline(row, is_fluid=is_fluid)
        state = "stopped" if row.stopped else "timed"
        if because:
            state = "timing" if job is not None else "outdated"
        found = timed.figures(analysis, info.name, row, is_fluid=is_fluid)
        shown = (timed.TimedFigure(info.head.end, head, "program", ""), *found)
        text = _text_of(module, info.head.start)
        figures = tuple(
            TimingFigure(_position(convert, each.offset), each.label, each.mark, each.detail)
            for each in shown
            if _text_of(module, each.offset) == text  # helpers may stand in other cells
        )
        return ProgramTiming(
            info.name, place, state, engine, problem or (head if row.stopped else ""),
            None if row.stopped else row.cycles, bool(because), head, figures, because or None,
        )  # fmt: skip

    # -- what happens ---------------------------------------------------------------------------------------------

    def on_analysis(self, module: Module, analysis: Analysis) -> None:
        """Take note of a new text: what it left alone keeps its figures, the rest is timed when nobody types."""
        if analysis.kind == "none" and module.uri not in self._sent:
            return
        self._saved.setdefault(module.uri, module.revision)
        job = self._jobs.get(module.uri)
        if job is not None and job.revision != module.revision and job.task is not None:
            job.task.cancel()
        runs = self._runs.get(module.uri, {})
        names = {info.name for info in drawn_programs(analysis)}
        names |= {placed.checked.name for placed in analysis.compositions}
        for name in [name for name in runs if name not in names]:
            del runs[name]
        if names and self._is_timed(module) and self._missing(module, analysis):
            self._later(module)
        else:
            self.show(module, analysis)

    def saved(self, module: Module, revision: int) -> None:
        """Time a module exactly whose text of ``revision`` is on disk now."""
        self._saved[module.uri] = revision
        self.look_again()
        if self._is_timed(module):
            self._due[module.uri] = module
            self._start()

    def look_again(self) -> None:
        """Files that describe chips, settings or configurations may have changed."""
        self._chips.clear()
        for module in self._around.documents:
            analysis = self._around.analyses.newest(module)
            if analysis is not None and (module.uri in self._sent or self._is_timed(module)):
                self.on_analysis(module, analysis)

    def close(self, module: Module) -> None:
        """Forget a closed module."""
        job = self._jobs.pop(module.uri, None)
        if job is not None and job.task is not None:
            job.task.cancel()
        for known in (self._runs, self._saved, self._due, self._sent, self._titles):
            known.pop(module.uri, None)
        self._hidden.discard(module.uri)

    def show(self, module: Module, analysis: Analysis | None = None) -> None:
        """Send the rows of a module if they changed, and have the client draw its views again."""
        analysis = analysis or self._around.analyses.newest(module)
        if analysis is None or not self._around.documents.is_open(module):
            return
        self._hidden.discard(module.uri)
        params, before = self.params(module, analysis), self._sent.get(module.uri)
        titles = [lens.title for lens in self.lenses(module, analysis)]
        if before is None and not titles and not any(each.programs for each in params.values()):
            return
        before = before or {}
        news = [each for uri, each in params.items() if uri not in before or not _same(before[uri], each)]
        self._sent[module.uri] = params
        if not news and self._titles.get(module.uri) == titles:
            return
        self._titles[module.uri] = titles
        editor = self._around.editor
        for each in news:
            editor.tell(TIMING, each)
        editor.refresh(types.WORKSPACE_CODE_LENS_REFRESH)
        editor.refresh(types.WORKSPACE_INLAY_HINT_REFRESH)

    # -- jobs -----------------------------------------------------------------------------------------------------

    def _later(self, module: Module) -> None:
        """Time a module once nobody types, and show what is outdated if that takes long."""
        self._due[module.uri] = module
        if module.uri not in self._hidden:
            self._hidden.add(module.uri)
            self._loop.later(_PATIENCE, lambda: self._give_up_hiding(module))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.later(_QUIET, self._start)

    def _give_up_hiding(self, module: Module) -> None:
        if module.uri in self._hidden:
            self._around.reporter.run("figures", self.show, module)

    def _start(self) -> None:
        """Start what is due."""
        due, self._due = self._due, {}
        for module in due.values():
            analysis = self._around.analyses.newest(module)
            if analysis is None or not self._is_timed(module):
                continue  # what follows an analysis comes here again
            engine = self._engine(module)
            job = self._jobs.get(module.uri)
            chip = self.chip(module)
            if job is not None and (job.revision, job.engine, job.chip) == (module.revision, engine, chip):
                continue
            if job is not None and job.task is not None:
                job.task.cancel()
            if chip.problem or not self._missing(module, analysis):
                self.show(module, analysis)
                continue
            job = self._jobs[module.uri] = _Job(module.revision, engine, chip)
            job.task = self._around.reporter.start("timing", self._run(module, analysis, job))

    def _missing(self, module: Module, analysis: Analysis) -> bool:
        """Return whether something that could be timed has no figures of the engine that is wanted now."""
        engine, runs = self._engine(module), self._runs.get(module.uri, {})
        wanted = self._timeable(analysis, engine)
        return any(not self._is_known(module, analysis, runs.get(name), engine) for name in wanted)

    @staticmethod
    def _timeable(analysis: Analysis, engine: TimingEngine) -> list[str]:
        """Return the programs without errors, and the compositions, of which there are no estimates."""
        found = [info.name for info in drawn_programs(analysis) if not timed.why_untimed(analysis, info)]
        if engine == "exact":
            composed = analysis.compositions
            found += [each.checked.name for each in composed if timed.composition_mark(analysis, each)]
        return found

    def _engine(self, module: Module) -> TimingEngine:
        """Return the engine that is wanted now: the exact one for what is on disk."""
        return "exact" if self._saved.get(module.uri) == module.revision else "fluid"

    def _is_known(self, module: Module, analysis: Analysis, run: TimedRun | None, engine: TimingEngine) -> bool:
        if run is None or self._outdated(module, analysis, run):
            return False
        return not run.is_fluid or engine == "fluid"

    async def _run(self, module: Module, analysis: Analysis, job: _Job) -> None:
        """Time a module to an end, whichever."""
        runs = self._runs.setdefault(module.uri, {})
        wanted = self._timeable(analysis, job.engine)
        known = [run.times.fingerprint for run in runs.values() if self._is_known(module, analysis, run, job.engine)]
        try:
            result = await self._timers.run(
                TimeRequest(engine=job.engine, known=tuple(known), **self._subject(module, job.chip))
            )
            found = [times for times in result.programs if times.program in wanted]
        except (asyncio.CancelledError, JobCancelled):
            return
        except JobError as error:
            prints = {name: _mark(analysis, name) for name in wanted}
            missing = [name for name, mark in prints.items() if mark not in known]
            found = [ProgramTimes(name, prints[name], job.engine, None, error.message) for name in missing]
        finally:
            if self._jobs.get(module.uri) is job:
                del self._jobs[module.uri]
        if self._around.documents.is_open(module):
            self._take(module, found, job.chip)
            if job.engine == "fluid" and (module.is_notebook or not module.is_file):
                self._loop.later(_SETTLED, lambda: self._settle(module, job.revision))

    def _settle(self, module: Module, revision: int) -> None:
        """Time a text exactly that has no save, unless it has changed since."""
        if self._around.documents.is_open(module) and module.revision == revision:
            self._saved[module.uri] = revision
            self._due[module.uri] = module
            self._around.reporter.run("timing", self._start)

    def _take(self, module: Module, found: list[ProgramTimes], chip: ChipInForce) -> None:
        runs = self._runs.setdefault(module.uri, {})
        had = [run.times.row.findings for run in runs.values() if run.times.row is not None]
        for times in found:
            runs[times.program] = TimedRun(times, chip)
        self.show(module)
        if had != [run.times.row.findings for run in runs.values() if run.times.row is not None]:
            self._around.findings.changed(module)

    def _subject(self, module: Module, chip: ChipInForce) -> dict[str, Any]:
        """Return what the requests of both jobs say of a document and its chip."""
        settings, project = self._around.workspace.settings_of(module.uri), self._around.projects.project(module)
        task = self._around.projects.task(module)
        return {
            "path": module.path, "text": module.source.text, "affine": settings.affine or project.config.affine,
            "chip": chip.name, "chip_text": chip.text, "task": None if task is None else AnswerFile(task[1], task[0]),
        }  # fmt: skip

    async def timeline(self, module: Module, analysis: Analysis, name: str) -> TimelineResult:
        """Return what each unit of a program does when, or why nobody can tell."""
        chip = self.chip(module)
        problem = chip.problem or ("" if self._is_timed(module) else "only a trusted workspace is timed")
        if not problem:
            try:
                before = _lines_before(module, analysis, name)
                request = TraceRequest(program=name, before=before, **self._subject(module, chip))
                found = await self._timers.trace(request)
            except JobError as error:
                problem = error.message
            else:
                lines = found.lines
                cycles, trace = found.cycles, found.trace
                return TimelineResult(name, chip.name, cycles, found.stopped, lines, trace, found.problem)
        return TimelineResult(name, chip.name, 0, False, (), None, problem)

    async def told(self, module: Module, path: str, text: str) -> ToldCycles:
        """Return what the program of a text that is no document takes, or its composition.

        ``module`` is where it was asked for: its chip holds. Nothing is said where the text has no program to time.
        """
        chip = self.chip(module)
        subject = {**self._subject(module, chip), "path": path, "text": text, "task": None}
        try:
            result = None if chip.problem else await self._timers.run(TimeRequest(engine="exact", **subject))
        except JobError:
            result = None  # a chip or text that cannot be used is told where it is edited
        found = () if result is None else result.programs
        chosen = next((each for each in found if each.text), found[0] if len(found) == 1 else None)
        if chosen is None or chosen.row is None:
            return ToldCycles() if chosen is None else ToldCycles(chosen.cycles, line=chosen.text)
        row = chosen.row
        if row.stopped:
            return ToldCycles(line=timed.headline(row, is_fluid=False))
        ratio = row.cycles / row.bound if row.bound else None
        return ToldCycles(row.cycles, ratio, f"{row.cycles:,} cycles on {chip.name}")

    # -- chips ----------------------------------------------------------------------------------------------------

    def _read_chip(self, module: Module, setting: str | None) -> ChipInForce:
        config = self._around.projects.project(module).config
        try:
            wanted = None if setting is None else self._in_folder(module, setting)
            chosen = chosen_chip(config, wanted, option="stepsmith.timing.hw")
            if chosen.path is None:
                return ChipInForce(chosen.chip.name, None, chosen.origin)
            self._follow([str(chosen.path.absolute())])
            return ChipInForce(chosen.chip.name, read_file(chosen.path).text, chosen.origin)
        except HardwareError as error:
            return ChipInForce(setting or config.hw or _PLAIN, problem=f"{error.place}: {error}".removeprefix(": "))
        except Unusable as error:
            return ChipInForce(setting or config.hw or _PLAIN, problem=error.message)

    def _in_folder(self, module: Module, setting: str) -> str:
        """Return the chip of a setting; a file's path is relative to the document's folder, else to the first one."""
        workspace = self._around.workspace
        folder = to_fs_path(workspace.folder_of(module.uri) or next(iter(workspace.folders), ""))
        return str(Path(folder) / setting) if folder and Path(setting).suffix == SUFFIX else setting


def _position(convert: Converter, offset: int) -> PlainPosition:
    return PlainPosition(*convert.corners(Span(offset, offset))[0])


def _text_of(module: Module, offset: int) -> str:
    """Return the URI of the text that holds an offset; "" where a module has none."""
    part = module.part(Span(offset, offset))
    return "" if part is None else part[0].uri


def _drawn_by(run: TimedRun | None) -> str:
    """Return the program whose timeline shows most about a line above a program or composition."""
    if run is None:
        return ""
    return run.times.longest or (run.times.program if run.times.row is not None else "")


def _lines_before(module: Module, analysis: Analysis, name: str) -> int:
    """Return how many lines of a module stand before the text (the cell of a notebook) that holds a program."""
    head = next((info.head.start for info in drawn_programs(analysis) if info.name == name), 0)
    start = max((start for start in module.starts if start <= head), default=0)
    return module.source.line_col(start)[0]


def _mark(analysis: Analysis, name: str) -> str:
    """Return a text that changes with anything that the cycles of a program or composition depend on."""
    unit = analysis.program(name)
    if unit is not None:
        return unit.fingerprint
    marks = (timed.composition_mark(analysis, each) for each in analysis.compositions if each.checked.name == name)
    return next(marks, "")


def _same(one: TimingParams, other: TimingParams) -> bool:
    """Return whether a client would show the same; a version alone is no news."""
    return replace(one, version=other.version) == other


def _diagnostic(row: FindingRow) -> Diagnostic:
    edits = tuple(Edit(Span(edit.start, edit.end), edit.text) for edit in row.edits)
    fix = Fix(row.title, edits) if row.title else None
    related = tuple(Related(Span(place.start, place.end), place.message) for place in row.related)
    return Diagnostic(row.code, Span(row.start, row.end), row.message, Severity(row.severity), related, fix)
