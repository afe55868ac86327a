"""What somebody asked for once: a timeline, cycles of a text that is no document, what rewrites could do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepcore.ide import timed
from stepcore.ide.programs import drawn_programs
from stepcore.jobdata.editor import TimelineResult
from stepcore.jobdata.programs import AnswerFile
from stepcore.jobdata.timing import ExplainRequest, ExplainResult, TimeRequest, TraceRequest
from stepcore.jobs import JobError
from stepserver.documents import Module
from stepserver.simulation import Around
from stepserver.timers import Timers
from stepserver.timing.chips import ChosenChips
from stepserver.timing.known import KnownFigures
from stepserver.timing.runs import ChipInForce, ToldCycles

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis


class AskedFigures(KnownFigures):
    """Timelines, and figures of texts that are no documents: what is asked of a worker once, and not kept."""

    def __init__(self, around: Around, chips: ChosenChips, timers: Timers) -> None:
        super().__init__(around, chips)
        self._timers = timers

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

    async def explained(self, module: Module, program: str, compute: int) -> ExplainResult:
        """Return what rewrites could do in a program, and why they cannot, or why nobody can tell."""
        chip = self.chip(module)
        if chip.problem:
            return ExplainResult((), f"the chip cannot be used: {chip.problem}")
        request = ExplainRequest(program=program, compute=compute, **self._subject(module, chip))
        try:
            return await self._timers.explain(request)
        except JobError as error:
            return ExplainResult((), error.message)

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


def _lines_before(module: Module, analysis: Analysis, name: str) -> int:
    """Return how many lines of a module stand before the text (the cell of a notebook) that holds a program."""
    head = next((info.head.start for info in drawn_programs(analysis) if info.name == name), 0)
    start = max((start for start in module.starts if start <= head), default=0)
    return module.source.line_col(start)[0]
