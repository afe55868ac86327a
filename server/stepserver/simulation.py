"""The one model of what is known about each program: not run, waiting, running, passed, failed, outdated.

Every view of the client follows the rows that :meth:`Simulation.rows` makes. A verdict belongs to what its run depended
on (see :class:`ProgramRun`): the text, the environment, the files that were read. When one of them differs, it is
stale; an edit elsewhere in the file, or one that only moves the program, leaves it as it is. Each run ends in a
terminal state, whatever happens to it. A verdict is shown as soon as it is decided, and is provisional until the run
ends: then it is what the run came to, and nothing of it remains where the run came to no end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from lsprotocol import types

from stepcore.findings.codes import Outcome, Phase, about
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.ide.model import ProgramInfo
from stepcore.ide.results import failure_diagnostics, mismatch_text, number_text, output_span, run_diagnostics
from stepcore.jobdata.editor import Mismatch, PlainPosition, PlainRange, ProgramState, ProgramStatus, SimulationParams
from stepcore.jobdata.programs import AnswerFile, Decided, SimulateRequest, SimulateResult, VerdictRow
from stepcore.jobs import JobError
from stepserver.analyses import Analyses
from stepserver.documents import Documents, Module
from stepserver.editor import Editor
from stepserver.findings import Findings
from stepserver.guard import Reporter
from stepserver.projects import Project, Projects
from stepserver.reads import FilesRead
from stepserver.settings import Settings, limits_of
from stepserver.simulators import Simulator, Simulators
from stepserver.workspace import Workspace

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis
    from stepserver.convert import Converter

PROGRAMS: Final = "stepsmith/simulation"
BUSY: Final = frozenset({"queued", "running"})
_VALUES: Final = 8  # of each stream, for hovers


@dataclass(frozen=True, slots=True)
class Environment:
    """What a run depends on outside of the workspace."""

    interpreter: str
    affine: str
    limits: tuple[float, int, bool]  # seconds, MiB, network


@dataclass(slots=True)
class ProgramRun:
    """The last run of one program, or the one that is going on.

    ``fingerprint``, ``environment`` and ``files`` (with their marks) are what it depends on. ``provisional``: state and
    verdict are what was decided so far.
    """

    fingerprint: str
    environment: Environment
    state: ProgramState = "queued"
    message: str = ""
    seconds: float | None = None
    provisional: bool = False
    verdict: VerdictRow | None = None
    result: SimulateResult | None = None
    failure: JobError | None = None
    task: asyncio.Task[None] | None = None
    files: dict[str, str] = field(default_factory=dict)
    before: ProgramRun | None = field(default=None, repr=False)  # while it is going on: the last that ended

    @property
    def is_going_on(self) -> bool:
        """Whether its end is to come."""
        return self.state in BUSY or self.provisional

    @property
    def ended(self) -> ProgramRun | None:
        """The newest run that came to an end, or to a verdict."""
        return self.before if self.state in BUSY else self


Outdated: TypeAlias = Callable[[ProgramRun, ProgramInfo], str]


@dataclass(frozen=True, slots=True)
class Around:
    """The parts of the server that simulation reads and tells."""

    workspace: Workspace
    documents: Documents
    projects: Projects
    analyses: Analyses
    findings: Findings
    editor: Editor
    reporter: Reporter


class Simulation:
    """The runs of all programs of all open modules. ``follow`` watches files that runs have read."""

    def __init__(self, around: Around, simulators: Simulators, follow: Callable[[Iterable[str]], None]) -> None:
        self._around = around
        self._simulators = simulators
        self._runs: dict[str, dict[str, ProgramRun]] = {}  # by module, by program
        self._sent: dict[str, tuple[ProgramStatus, ...]] = {}
        self._unrun: dict[str, dict[Hashable, ProgramStatus]] = {}  # rows of programs without runs, by all they show
        self._states: dict[str, Any] = {}
        self._batches = 0  # of programs that are run together, whose file is imported once
        self._reads = FilesRead(follow)
        self.serial = 0  # grows when findings or values change without an edit

    # -- what is known --------------------------------------------------------------------------------------

    def programs(self, analysis: Analysis) -> list[ProgramInfo]:
        """Return the programs of a document."""
        from stepcore.ide.programs import programs

        return programs(analysis)

    @staticmethod
    def fingerprint(analysis: Analysis, program: ProgramInfo) -> str:
        """Return what changes with all in the file that a run of a program depends on; asked for only with runs."""
        from stepcore.ide.programs import fingerprint

        return fingerprint(analysis, program)

    def rows(self, module: Module, analysis: Analysis) -> tuple[ProgramStatus, ...]:
        """Return what the client shows for each program."""
        from stepserver.convert import Converter

        if module.is_notebook:
            return ()
        convert = Converter(self._around.workspace, module)
        runs = self._runs.get(module.uri, {})
        outdated = self._outdated(module, analysis, runs)
        before = self._unrun.get(module.uri, {})
        unrun: dict[Hashable, ProgramStatus] = {}
        rows: list[ProgramStatus] = []
        for info in self.programs(analysis):  # an edit leaves nearly all of them as they were
            run, corners = runs.get(info.name), convert.corners(info.head)
            key = info.name, info.target, info.has_reference, info.is_runnable, corners
            row = before.get(key) or _unrun_row(info, corners)
            unrun[key] = row
            rows.append(row if run is None else self._run_row(convert, analysis, info, row, run, outdated))
        self._unrun[module.uri] = unrun
        return tuple(rows)

    def diagnostics(self, module: Module, analysis: Analysis) -> list[Diagnostic]:
        """Return the findings of the last runs, of those that hold for the present text."""
        runs = self._runs.get(module.uri)
        if not runs:
            return []
        outdated = self._outdated(module, analysis, runs)
        found: list[Diagnostic] = []
        for info in self.programs(analysis):
            run = self._holding(runs.get(info.name), info, outdated)
            if run is not None:
                arrival = () if run.result is None else run.result.arrival
                found.extend(run_diagnostics(analysis, info.name, run.verdict, arrival))
            if run is not None and run.failure is not None:
                error = run.failure
                node = error.detail.get("node")
                found.extend(failure_diagnostics(analysis, info.name, error.code, error.message, node))
        return found

    def view(self, module: Module, analysis: Analysis, offset: int) -> SimulateResult | None:
        """Return the values of the last run of the program around ``offset``, unless it has changed since."""
        unit = analysis.unit_at(offset) if module.uri in self._runs else None
        return None if unit is None or unit.checked is None else self.run_view(module, analysis, unit.checked.name)

    def run_view(self, module: Module, analysis: Analysis, name: str) -> SimulateResult | None:
        """Return the values of the last run of a program, unless it has changed since."""
        runs = self._runs.get(module.uri, {})
        for info in self.programs(analysis) if name in runs else ():
            if info.name == name:
                run = self._holding(runs[name], info, self._outdated(module, analysis, runs))
                return None if run is None else run.result
        return None

    def _outdated(self, module: Module, analysis: Analysis, runs: dict[str, ProgramRun]) -> Outdated:
        """Return what says why a run does not hold for a program as it is now, and "" where it does."""
        here = self._environment(module) if runs else None

        def why(run: ProgramRun, info: ProgramInfo) -> str:
            if run.fingerprint != self.fingerprint(analysis, info):
                return "the text changed"
            if run.environment != here:
                return "the interpreter or a setting changed"
            changed = self._reads.changed(run.files)
            return f"{changed} changed" if changed else ""

        return why

    def _environment(self, module: Module) -> Environment:
        settings, project = self._held(module)
        held = limits_of(settings, project.config)
        return Environment(
            self._around.workspace.interpreter_of(module.uri),
            settings.affine or project.config.affine,
            (held.seconds, held.memory, held.network),
        )

    @staticmethod
    def _holding(run: ProgramRun | None, info: ProgramInfo, outdated: Outdated) -> ProgramRun | None:
        """Return the last run that ended, if what it found holds; none where it was cancelled."""
        last = None if run is None else run.ended
        return last if last is not None and last.state != "cancelled" and not outdated(last, info) else None

    @staticmethod
    def _run_row(
        convert: Converter, analysis: Analysis, info: ProgramInfo, row: ProgramStatus, run: ProgramRun,
        outdated: Outdated,
    ) -> ProgramStatus:  # fmt: skip
        """Return ``row``, that of the program without a run, with what its last run found."""
        last = run.ended
        why = "" if last is None else outdated(last, info)
        row = replace(row, stale=bool(why))
        if run is not last:
            row = replace(row, state=run.state, message=run.message)
        elif info.is_runnable or not why:
            row = replace(row, state=run.state, message=run.message, seconds=run.seconds, provisional=run.provisional)
            if why:
                row = replace(row, state="stale", was=run.state, because=why)
        mismatch = None if why else _mismatch(last)
        if mismatch is None:
            return row
        place = output_span(analysis, info.name, mismatch.output)
        area = None if place is None else plain_range(convert.corners(place))
        return replace(row, mismatch=replace(mismatch, range=area))

    # -- what happens -------------------------------------------------------------------------------------------

    def on_analysis(self, module: Module, analysis: Analysis) -> None:
        """Show the programs of a new text, and get the worker ready where it will be needed."""
        if analysis.kind == "none" and module.uri not in self._sent:
            return
        runs = self._runs.get(module.uri)
        infos = self.programs(analysis)
        if runs is not None:
            names = {info.name for info in infos}
            for name in [name for name in runs if name not in names and not runs[name].is_going_on]:
                del runs[name]
        self.show(module, analysis)
        if infos and module.is_file and not module.is_notebook:
            simulator = self._simulators.of(module)
            if simulator is not None:
                simulator.warm(module)
            self._simulators.changed()

    def show(self, module: Module, analysis: Analysis | None = None) -> None:
        """Send the rows of a module if they changed; have code lenses drawn again where their text did."""
        analysis = analysis or self._around.analyses.newest(module)
        if analysis is None:
            self._around.analyses.touch(module)  # what follows an analysis comes here again
            return
        rows = self.rows(module, analysis)
        if rows == self._sent.get(module.uri, ()):
            return
        self._sent[module.uri] = rows
        self._around.editor.tell(PROGRAMS, SimulationParams(module.uri, module.version, rows))
        states = [(row.name, row.state, row.message, row.stale, row.provisional) for row in rows]
        if states != self._states.get(module.uri):
            self._states[module.uri] = states
            self._around.editor.refresh(types.WORKSPACE_CODE_LENS_REFRESH)

    async def start(self, module: Module, names: Iterable[str] | None = None, *, on_save: bool = False) -> str:
        """Simulate programs of a module; return why nothing can be, or nothing.

        On save those that have a reference are run, unless nothing that they depend on changed since their verdict;
        runs of older texts are cancelled.
        """
        if module.is_notebook:
            return "programs in a notebook are checked but not simulated here; run the cell, or use a Python file"
        if not module.is_file:
            return "only files are simulated; save this document first"
        simulator = self._simulators.of(module)
        if simulator is None:
            return self._simulators.hindrance.message
        analysis = await self._around.analyses.of(module)
        wanted = None if names is None else set(names)
        infos = [info for info in self.programs(analysis) if wanted is None or {info.name, info.target} & wanted]
        runs = self._runs.setdefault(module.uri, {})
        self._batches += 1
        outdated = self._outdated(module, analysis, runs)
        for info in infos:
            run = runs.get(info.name)
            if run is not None and run.is_going_on:
                if not outdated(run, info):
                    continue
                self._stop(run)
            held = self._holding(run, info, outdated)
            is_decided = held is not None and held.state in ("passed", "failed")
            if not info.is_runnable or (on_save and (not info.has_reference or is_decided)):
                continue
            self._queue(module, simulator, info, analysis)
        self.show(module, analysis)
        if infos:
            runnable = any(info.is_runnable for info in infos)
            return "" if runnable or on_save else "a program with errors cannot be simulated"
        return "there is no such program in this document" if wanted is not None else "there is no program here"

    def cancel(self, uri: str | None = None, name: str | None = None) -> int:
        """Cancel runs: of a program, of a module, or all; return how many."""
        module = None if uri is None else self._around.documents.module_of(uri)
        stopped = [
            run
            for key, runs in self._runs.items()
            for program, run in runs.items()
            if (uri is None or (module is not None and key == module.uri))
            and (name is None or name.rpartition("::")[2] == program)
            and self._stop(run)
        ]
        return len(stopped)

    @property
    def is_awaited(self) -> bool:
        """Whether somebody may wait for a verdict."""
        return any(run.is_going_on for runs in self._runs.values() for run in runs.values())

    def forget_marks(self) -> None:
        """Files that runs have read may have changed: what comes next looks at them again."""
        self._reads.look_again()

    def look_again(self) -> None:
        """Show which runs are outdated, because files that they have read may have changed."""
        self.forget_marks()
        for module in self._around.documents:
            if self._runs.get(module.uri):
                self.show(module)
                self._around.findings.changed(module)

    def close(self, module: Module) -> None:
        """Forget a closed module."""
        for run in self._runs.get(module.uri, {}).values():
            self._stop(run)
        for known in (self._runs, self._sent, self._unrun, self._states):
            known.pop(module.uri, None)

    def _held(self, module: Module) -> tuple[Settings, Project]:
        """Return what the user and the project set for a module."""
        return self._around.workspace.settings_of(module.uri), self._around.projects.project(module)

    # -- one run --------------------------------------------------------------------------------------------------

    def _stop(self, run: ProgramRun) -> bool:
        if not run.is_going_on or run.task is None:
            return False
        run.task.cancel()
        return True

    def _queue(self, module: Module, simulator: Simulator, info: ProgramInfo, analysis: Analysis) -> None:
        runs = self._runs[module.uri]
        old = runs.get(info.name)
        before = None if old is None else old.ended
        mark = self.fingerprint(analysis, info)
        run = runs[info.name] = ProgramRun(mark, self._environment(module), before=before)
        request = self._request(module, info, analysis)
        run.task = asyncio.create_task(self._run(module, simulator, run, request))

    def _request(self, module: Module, info: ProgramInfo, analysis: Analysis) -> SimulateRequest:
        settings, project = self._held(module)
        task = self._around.projects.task(module)
        text, path = task or (module.source.text, module.path)
        return SimulateRequest(
            path,
            text,
            path,
            info.name if module.path.endswith(".py") else None,
            None if task is None else AnswerFile(module.path, module.source.text),
            affine=settings.affine or project.config.affine,
            values=_VALUES,
            batch=str(self._batches),
            clean=task is None and is_clean(analysis, text),
        )

    async def _run(self, module: Module, simulator: Simulator, run: ProgramRun, request: SimulateRequest) -> None:
        """Run to an end, whichever."""

        def started() -> None:
            run.state = "running"
            self.show(module)

        def decided(news: Decided) -> None:
            self._decide(module, run, news)

        settings, project = self._held(module)
        seconds = limits_of(settings, project.config).seconds
        try:
            self._finish(run, await simulator.run(request, seconds, started, decided))
        except JobError as error:
            run.verdict = None
            run.files = self._reads.taken(error.detail.get("reads"))
            if about(error.code).phase is Phase.SET_UP:
                # The simulator's status says what is missing; the program may be right.
                run.state, run.message = "error", "there is no simulator: PyTorch or its Python is missing"
                return
            run.failure = _unexamined(error) if run.provisional else error
            run.state, run.message = "error", f"{error.code} {run.failure.message}"
        except asyncio.CancelledError:
            run.verdict = None
            run.state, run.message = "cancelled", "cancelled"
        except Exception as error:  # noqa: BLE001 - a mistake of ours must not leave a run that never ends
            run.verdict = None
            run.state, run.message = "error", "Stepsmith failed; see the output"
            self._around.reporter.crash("simulation", error)
        finally:
            run.before, run.provisional = None, False
            self._news(module)

    def _decide(self, module: Module, run: ProgramRun, news: Decided) -> None:
        """Show the verdict of a run that goes on; one that was told already, or of a run that is over, is none."""
        if run.state != "running":
            return
        run.verdict, run.provisional = news.verdict, True
        run.files = self._reads.taken(news.reads)
        run.state, run.message = verdict_state(news.verdict), verdict_text(news.verdict)
        if run.state == "passed":
            run.message += "; it is still examined what that is worth"
        self._news(module)

    def _finish(self, run: ProgramRun, result: SimulateResult) -> None:
        verdict = run.verdict = result.verdict
        run.result, run.seconds = result, result.seconds
        run.files = self._reads.taken(result.reads)
        if verdict is None:
            run.state, run.message = "idle", "the program ran; it has no reference to compare with"
            return
        run.state, run.message = verdict_state(verdict), verdict_text(verdict)

    def _news(self, module: Module) -> None:
        self.serial += 1
        if self._around.documents.is_open(module):
            self.show(module)
            self._around.findings.changed(module)


def is_clean(analysis: Analysis, text: str) -> bool:
    """Whether all of a task was checked as it is sent, without an error: its run need not search it once more."""
    if analysis.kind != "task" or analysis.source.text != text:
        return False
    return not any(found.severity is Severity.ERROR for found in analysis.diagnostics)


def _unexamined(error: JobError) -> JobError:
    """Return how a run failed after its verdict was decided: that verdict does not stand."""
    text = f"{error.message}; until then the verdict was decided, but not examined to its end"
    return JobError(error.code, text, error.detail, error.trace)


def verdict_state(verdict: VerdictRow) -> ProgramState:
    """Return whether a run differs from its reference, or whether there was nothing to compare it with."""
    if verdict.accepted:
        return "passed"
    functional = verdict.functional
    return "failed" if functional.ok or about(functional.code).outcome is Outcome.DIFFERENT else "error"


def verdict_text(verdict: VerdictRow) -> str:
    """Return one line for a verdict: the first difference, or what else is wrong."""
    functional = verdict.functional
    if verdict.accepted:
        error = functional.max_abs_error
        return "equal to the reference" + (f", largest error {error:.2g}" if error else "")
    if verdict.mismatch is not None:
        return mismatch_text(verdict.mismatch)
    if not verdict.shape.ok:
        return f"shape: {verdict.shape.detail}"
    return f"affine: {verdict.affine.detail}" if functional.ok else f"function: {functional.detail}"


def _mismatch(run: ProgramRun | None) -> Mismatch | None:
    """Return the first difference for views of the client; numbers as texts."""
    verdict = None if run is None else run.verdict
    found = None if verdict is None else verdict.mismatch
    if found is None or verdict is None or verdict.functional.ok:
        return None
    return Mismatch(found.output, found.component, found.index, number_text(found.expected), number_text(found.got))


def _unrun_row(info: ProgramInfo, corners: tuple[tuple[int, int], tuple[int, int]]) -> ProgramStatus:
    return ProgramStatus(
        info.name, info.target, plain_range(corners), info.has_reference,
        "idle" if info.is_runnable else "norun", "" if info.is_runnable else "the program has errors",
        seconds=None, stale=False,
    )  # fmt: skip


def plain_range(corners: tuple[tuple[int, int], tuple[int, int]]) -> PlainRange:
    """Return a range for our own messages."""
    start, end = corners
    return PlainRange(PlainPosition(*start), PlainPosition(*end))
