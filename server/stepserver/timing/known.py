"""What is known of how fast programs are: rows, figures, lines above programs, findings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity
from stepcore.ide import timed
from stepcore.ide.actions import QUICKFIX
from stepcore.ide.model import Action, ProgramInfo
from stepcore.ide.programs import drawn_programs
from stepcore.jobdata.choices import TimingEngine
from stepcore.jobdata.editor import GraphResult, PlainPosition, ProgramTiming, TimingFigure, TimingParams, TimingState
from stepcore.jobdata.timing import FindingRow, TimingRow
from stepcore.text.span import Span
from stepserver.convert import Converter
from stepserver.documents import Module
from stepserver.simulation import Around, plain_range
from stepserver.timing.chips import ChosenChips
from stepserver.timing.runs import ChipInForce, TimedLens, TimedRun, TimingJob, text_mark

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis


class KnownFigures:
    """The figures that are known of all programs of all open modules, as views show them."""

    def __init__(self, around: Around, chips: ChosenChips) -> None:
        self._around = around
        self._chips = chips
        self._runs: dict[str, dict[str, TimedRun]] = {}  # by module, by program
        self._jobs: dict[str, TimingJob] = {}
        self._hidden: set[str] = set()  # modules whose outdated figures are not shown as such yet

    def chip(self, module: Module) -> ChipInForce:
        """Return the chip for a module: the one that the user set, else that of the project's configuration."""
        return self._chips.of(module)

    def _is_timed(self, module: Module) -> bool:
        return self._around.workspace.is_timed(module.uri)

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
        if text_mark(analysis, run.times.program) != run.times.fingerprint:
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


def _diagnostic(row: FindingRow) -> Diagnostic:
    edits = tuple(Edit(Span(edit.start, edit.end), edit.text) for edit in row.edits)
    fix = Fix(row.title, edits) if row.title else None
    related = tuple(Related(Span(place.start, place.end), place.message) for place in row.related)
    return Diagnostic(row.code, Span(row.start, row.end), row.message, Severity(row.severity), related, fix)
