"""The one model of how fast each program is: timed, being timed, outdated, stopped, or not timed and why.

Every view follows the rows that :meth:`KnownFigures.rows` makes. A figure belongs to the text of its program (by the
fingerprint of its unit) and to a chip; when one of them differs it is outdated, and an edit elsewhere leaves it as it
is. While somebody types the fluid engine answers, for a text that was opened or saved the exact one. What was edited is
shown as outdated only when no answer has come for a moment, because figures that flicker help nobody. Notebooks and
what is on no disk yet have no save that counts: they are timed exactly once nobody has typed for a while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from lsprotocol import types

from stepcore.ide import timed
from stepcore.ide.programs import drawn_programs
from stepcore.jobdata.choices import TimingEngine
from stepcore.jobdata.editor import TimingParams
from stepcore.jobdata.timing import ProgramTimes, TimeRequest
from stepcore.jobs import JobCancelled, JobError
from stepserver.documents import Module
from stepserver.loop import Loop
from stepserver.simulation import Around
from stepserver.timers import Timers
from stepserver.timing.asked import AskedFigures
from stepserver.timing.chips import ChosenChips
from stepserver.timing.runs import ChipInForce, TimedRun, TimingJob, text_mark

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis


TIMING: Final = "stepsmith/timing"
_QUIET: Final = 0.04  # seconds without an edit, after which programs are timed
_SETTLED: Final = 1.5  # seconds without an edit, after which what has no save is timed exactly
_PATIENCE: Final = 0.4  # until figures of an earlier text are shown as such


class TimingStatus(AskedFigures):
    """The figures of all programs of all open modules. ``follow`` watches files that describe chips."""

    def __init__(self, around: Around, timers: Timers, loop: Loop, follow: Callable[[Iterable[str]], None]) -> None:
        super().__init__(around, ChosenChips(around, follow), timers)
        self._loop = loop
        self._saved: dict[str, int] = {}  # the revision that is on disk
        self._due: dict[str, Module] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._sent: dict[str, dict[str, TimingParams]] = {}  # by module, by text
        self._titles: dict[str, list[str]] = {}  # of the lines above programs that were shown

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
        self._chips.forget()
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
            job = self._jobs[module.uri] = TimingJob(module.revision, engine, chip)
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

    async def _run(self, module: Module, analysis: Analysis, job: TimingJob) -> None:
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
            prints = {name: text_mark(analysis, name) for name in wanted}
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


def _same(one: TimingParams, other: TimingParams) -> bool:
    """Return whether a client would show the same; a version alone is no news."""
    return replace(one, version=other.version) == other
