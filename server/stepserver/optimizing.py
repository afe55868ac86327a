"""*Make it faster*: a search for faster programs that compute the same, which the client starts, follows and ends.

The client orders one with ``stepsmith.server.optimize`` and hears of it by ``stepsmith/optimizing``, a notification
that ends with one of the states ``done``, ``failed`` or ``cancelled`` in any case. What is found belongs to the text
that it was ordered for, and is put into the document by ``stepsmith.server.takeFaster`` only while that has it.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lsprotocol import types

from stepcore.chips.keys import described
from stepcore.ide.line_edits import line_edits
from stepcore.ide.model import ProgramInfo
from stepcore.ide.programs import programs
from stepcore.ide.timed import bound_text
from stepcore.isolation import Isolation, isolation_for
from stepcore.jobdata.choices import OrderState
from stepcore.jobdata.faster import (
    ExplainedRewrites,
    ExplainOrder,
    OptimizeOrder,
    OptimizeStop,
    OptimizingParams,
    ProgramChoice,
    RewriteReason,
    Taken,
    TakeOrder,
)
from stepcore.jobdata.optimizing import OPTIMIZE, FasterResult, OptimizeProgress, OptimizeRequest, ProposerOptions
from stepcore.jobdata.plain import shared
from stepcore.jobdata.timing import ExplainedRow
from stepcore.jobs import Job, JobCancelled, JobError
from stepcore.settings.data_folder import LEDGER, records_folder, store_path
from stepcore.text.span import SourceFile
from stepserver.agents import AgentPools, answer_of_model
from stepserver.convert import Converter
from stepserver.documents import Module
from stepserver.offering import TITLE, hindrance_in
from stepserver.paths import file_path
from stepserver.positions import Codec
from stepserver.settings import limits_of
from stepserver.simulation import Around, plain_range
from stepserver.timing.status import TimingStatus

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis

TOLD: Final = "stepsmith/optimizing"
CHANGED: Final = "the text has changed since; make it faster again, or undo the change"
_SECONDS: Final = 60.0  # of a search, where nobody says more
_PROOF: Final = 1800.0  # of work beyond the search: the front is verified; every run has a limit of its own
_MOST: Final = 1 << 50  # bytes, FLOPs per cycle
_LONGEST: Final = 604_800.0  # seconds


@dataclass(slots=True)
class Optimization:
    """One search that goes on; ``told`` is its last news."""

    module: Module
    order: OptimizeOrder
    before: str
    job: Job[FasterResult]
    told: OptimizingParams = field(init=False)


class Optimizing:
    """All searches of this server: one at a time, because each takes all cores."""

    def __init__(self, around: Around, timing: TimingStatus) -> None:
        self._around = around
        self._timing = timing
        self._pools = AgentPools(around.workspace)
        self._running: dict[int, Optimization] = {}
        self._last = 0

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return self._pools.worker_pids

    def news(self, module: Module, program: str) -> OptimizingParams | None:
        """Return the last news of the search for a program; None where there is none."""
        told = (each.told for each in self._running.values() if each.module is module)
        return next((each for each in told if each.program == program), None)

    def choices(self, module: Module, analysis: Analysis, order: OptimizeOrder) -> tuple[ProgramChoice, ...]:
        """Return the programs of which a user has to choose one; none where there is no choice.

        What hinders all of them alike is told by :meth:`start`, and nobody is asked before.
        """
        found = programs(analysis)
        if order.program is not None or len(found) < 2 or self._running:
            return ()
        figures = {lens.span: lens.title for lens in self._timing.lenses(module, analysis)}
        here = _around_line(module, found, order.line)
        rows = []
        for info in found:
            problem = self._hindrance(module, analysis, info, replace(order, program=info.name))
            line = module.source.line_col(info.head.start)[0]
            rows.append(ProgramChoice(info.name, line, info is here, figures.get(info.head, ""), problem))
        return tuple(rows) if any(not row.problem for row in rows) else ()

    def start(self, module: Module, analysis: Analysis, order: OptimizeOrder) -> tuple[int, str, str]:
        """Begin a search; returns its number, or 0 and why there is none, and the program that is meant."""
        info = program_of(module, analysis, order)
        name = "" if info is None else info.name
        problem = self._hindrance(module, analysis, info, order)
        if problem or info is None:
            return 0, problem, name
        request = self._request(module, info, order)
        self._last += 1
        number, loop = self._last, asyncio.get_running_loop()

        def progress(news: OptimizeProgress) -> None:
            loop.call_soon_threadsafe(self._hear, number, news)

        def ask(question: Any) -> Any:
            answer = answer_of_model(self._around.editor, question, order.asker)
            return asyncio.run_coroutine_threadsafe(answer, loop).result()

        isolation, seconds = _isolation(request), request.seconds + _PROOF
        job = self._pools.of(module).submit(
            OPTIMIZE, request, seconds=seconds, on_progress=progress, on_ask=ask, isolation=isolation
        )
        search = Optimization(module, order, request.text, job)
        search.told = OptimizingParams(number, module.uri, name, "running", "begins")
        self._running[number] = search
        self._around.reporter.start("making a program faster", self._follow(number, search))
        self._show(search)
        return number, "", name

    def stop(self, order: OptimizeStop) -> int:
        """End one search, or all: with what was found so far, or without; returns how many."""
        found = [search for number, search in self._running.items() if order.id in (None, number)]
        for search in found:
            if order.keep:
                search.job.conclude()
            else:
                search.job.cancel()
        return len(found)

    async def explain(self, module: Module, analysis: Analysis, order: ExplainOrder) -> ExplainedRewrites:
        """Tell what each rewrite could do in a program, and why others do not apply; nothing is searched."""
        info = next((each for each in programs(analysis) if each.name == order.program), None)
        around, source = self._around, module.source  # an edit while the worker counts makes another source
        problem = hindrance_in(around.workspace, around.projects, module, analysis, info, order.program)
        if order.compute is not None and not 1 <= order.compute <= _MOST:
            problem = "compute has to lie between 1 and 2**50"
        if problem:
            return ExplainedRewrites(problem)
        found = await self._timing.explained(module, order.program, order.compute or 0)
        reasons = tuple(_reason(row, source, around.workspace.codec) for row in found.rows)
        return ExplainedRewrites(found.problem, source.text, reasons)

    async def take(self, order: TakeOrder) -> Taken:
        """Have the client make one text of another, as one edit that leaves alone what both have."""
        module = self._around.documents.module_of(order.uri)
        if module is None or module.is_notebook:
            return Taken(False, "the document is not open any more")
        if module.texts[0].source.text != order.before:
            return Taken(False, CHANGED)
        edit = Converter(self._around.workspace, module).workspace_edit(line_edits(order.before, order.text))
        params = types.ApplyWorkspaceEditParams(edit, TITLE)
        answer = await self._around.editor.ask(types.WORKSPACE_APPLY_EDIT, params)
        if getattr(answer, "applied", False):
            return Taken(True, "")
        reason = getattr(answer, "failure_reason", None)
        return Taken(False, f"the editor did not take the change{f': {reason}' if reason else ''}")

    async def reset(self) -> None:
        """Cancel everything and end the workers; the next search starts them anew."""
        self.stop(OptimizeStop(keep=False))
        await self._pools.reset()

    def close(self) -> None:
        """Kill all workers and wait for it; for the end of the process."""
        self._pools.close()

    def _hindrance(self, module: Module, analysis: Analysis, info: ProgramInfo | None, order: OptimizeOrder) -> str:
        """Return why no search is begun; "" where nothing speaks against it."""
        around = self._around
        if problem := hindrance_in(around.workspace, around.projects, module, analysis, info, order.program):
            return problem
        if problem := self._timing.chip(module).problem:
            return f"the chip cannot be used: {problem}"
        if problem := _unusable(order):
            return problem
        if self._running:
            other = next(iter(self._running.values())).told.program
            return f"{other} is being made faster, which takes all cores: stop that first"
        return ""

    def _request(self, module: Module, info: ProgramInfo, order: OptimizeOrder) -> OptimizeRequest:
        around, chip = self._around, self._timing.chip(module).hardware
        settings, config = around.workspace.settings_of(module.uri), around.projects.project(module).config
        limits = limits_of(settings, config)
        return OptimizeRequest(
            path=module.path,
            program=info.name,
            affine=settings.affine or config.affine,
            chip_name=chip.name,
            chip=described(chip),
            compute=order.compute or 0,
            capacity=chip.onchip.capacity if order.capacity is None else order.capacity,
            text=module.texts[0].source.text,
            goal=order.goal,
            seconds=order.seconds or _SECONDS,
            run_seconds=limits.seconds,
            run_memory=limits.memory,
            network=limits.network,
            records=str(_records()),
            ledger=str(store_path().with_name(LEDGER)),
            store=str(store_path()) if order.remember else "",
            workspace=file_path(around.workspace.folder_of(module.uri)) or str(Path(module.path).parent),
            **shared(ProposerOptions, order),
        )

    def _hear(self, number: int, news: OptimizeProgress) -> None:
        search = self._running.get(number)
        if search is None:
            return
        told = replace(search.told, text=news.text)
        if news.cycles is not None:
            told = replace(told, cycles=news.cycles, ratio=news.ratio)
        if news.spent is not None:
            told = replace(told, spent=news.spent)
        search.told = told
        self._show(search)

    async def _follow(self, number: int, search: Optimization) -> None:
        """Wait for a job and tell its end, whatever it is."""
        state: OrderState = "failed"
        end = replace(search.told, message="the job ended without a result")
        try:
            found = await asyncio.wrap_future(search.job.future)
            state, end = "done", replace(search.told, message=found.problem, before=search.before, result=found)
        except (JobCancelled, asyncio.CancelledError):
            state, end = "cancelled", replace(search.told, message="cancelled")
        except JobError as error:
            end = replace(search.told, message=error.message, code=error.code, detail=error.detail)
        finally:
            search.told = replace(end, state=state, text=None)
            self._running.pop(number, None)
            self._show(search)
        if search.order.apply and state != "cancelled":
            await self._deliver(search.told)

    async def _deliver(self, told: OptimizingParams) -> None:
        """Put the best program into the document, for a client that shows neither a choice nor failures."""
        editor = self._around.editor
        best = None if told.result is None else next((each for each in told.result.points if each.is_best), None)
        if best is None or told.before is None:
            editor.warn(f"{told.program}: {told.message or 'nothing that runs to its end was verified'}")
        elif best.text == told.before:
            editor.warn(f"{told.program}: no rewrite that was tried makes it better")
        else:
            taken = await self.take(TakeOrder(told.uri, told.before, best.text))
            if not taken.taken:
                editor.warn(f"{told.program}: {taken.message}")

    def _show(self, search: Optimization) -> None:
        self._around.editor.tell(TOLD, search.told)
        self._around.editor.refresh(types.WORKSPACE_CODE_LENS_REFRESH)


def program_of(module: Module, analysis: Analysis, order: OptimizeOrder) -> ProgramInfo | None:
    """Return the program that an order names; by a line the one around it, or where there is one alone, that."""
    found = programs(analysis)
    if order.program is not None:
        return next((info for info in found if info.name == order.program), None)
    around = _around_line(module, found, order.line)
    return found[0] if around is None and len(found) == 1 else around


def _around_line(module: Module, found: list[ProgramInfo], line: int | None) -> ProgramInfo | None:
    """Return the program around a line, which counts from 0; None where there is none."""
    if line is None or not 0 <= line < len(module.source.line_starts):
        return None
    offset = module.source.line_starts[line]
    around = [info for info in found if info.span.start <= offset <= info.span.end]
    return around[-1] if around else None


def lens_title(news: OptimizingParams | None) -> str:
    """Return the text of the line above a program: what a click begins or ends, and what was found so far."""
    if news is None:
        return TITLE
    if news.cycles is None:
        return "Stop making it faster"
    ratio = "" if news.ratio is None else f", {bound_text(news.ratio)}"
    return f"Stop making it faster | {news.cycles:,} cycles so far{ratio}"


def _unusable(order: OptimizeOrder) -> str:
    """Return what is wrong with the numbers of an order; "" where nothing is."""
    amounts = (("capacity", order.capacity), ("compute", order.compute), ("budget_tokens", order.budget_tokens))
    for name, value in amounts:
        if value is not None and not 1 <= value <= _MOST:
            return f"{name} has to lie between 1 and 2**50"
    if order.seconds is not None and not 0 < order.seconds <= _LONGEST:
        return f"seconds has to lie between 0 and {_LONGEST:,.0f}"
    return ""


def _reason(row: ExplainedRow, source: SourceFile, codec: Codec) -> RewriteReason:
    if row.start < 0:
        return RewriteReason(row.rewrite, row.applies, row.sentence)
    place = plain_range((codec.place(source, row.start), codec.place(source, row.end)))
    return RewriteReason(row.rewrite, row.applies, row.sentence, source.text[row.start : row.end], place)


def _records() -> Path:
    """Return the folder of what searches work out; where it cannot be made, the search says so and goes on."""
    folder = records_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return folder  # opening a record in it fails for the same reason, which the search tells
    return folder


def _isolation(request: OptimizeRequest) -> Isolation:
    """Return what the worker may do: start the workers that time and verify, each kept away from more than it needs."""
    inner = isolation_for(Path(request.path), network=request.network)
    kept = {str(Path(file).parent) for file in (request.ledger, request.store) if file}
    folders = tuple(sorted({*inner.folders, request.records, *kept}))
    return Isolation("user", folders, inner.network, workers=2 * (os.cpu_count() or 1))
