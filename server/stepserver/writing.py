"""Writing programs for tasks and functions: jobs of the agents' worker, which the client starts, follows and stops.

The client starts one with ``stepsmith.server.write`` or ``stepsmith.server.synthesize`` and hears of it by
``stepsmith/writing``, a notification that ends with one of the states ``done``, ``failed`` or ``cancelled`` in any
case. A model is asked by the request ``stepsmith/model`` to the client, which alone knows keys: none passes through
here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Generic, TypeAlias

from stepcore.isolation import TEXT, Isolation, isolation_for
from stepcore.jobdata.editor import (
    ImplOrder,
    News,
    OrderState,
    TextWithImpl,
    WriteOrder,
    WritingParams,
)  # fmt: skip
from stepcore.jobdata.kinds import JobKind, Request, Result
from stepcore.jobdata.plain import shared
from stepcore.jobdata.writing import (
    PROPOSE,
    FunctionRequest,
    ProposeRequest,
    ProposeResult,
    SizesRequest,
    Solution,
    WritingOptions,
    WritingProgress,
)
from stepcore.jobs import Job, JobCancelled, JobError
from stepcore.jobs.proposers import BY_NAME, SEARCH
from stepserver.agents import AgentPools, answer_of_model
from stepserver.documents import Documents, Module
from stepserver.editor import Editor
from stepserver.guard import Reporter
from stepserver.workspace import Workspace

TOLD: Final = "stepsmith/writing"
_GRACE: Final = 30.0  # seconds that a job has beyond its own limit before its worker is killed
_MOST_AT_ONCE: Final = 2


@dataclass(frozen=True, slots=True)
class Work(Generic[Request, Result]):
    """What a worker has to do; it is killed after ``seconds``.

    ``progress`` and ``result`` turn what the job reports and returns into what the client is told; a result has
    ``message`` and ``solutions``.
    """

    kind: JobKind[Request, WritingProgress, Result]
    request: Request
    seconds: float
    progress: Callable[[WritingProgress], News]
    result: Callable[[Result], News]


@dataclass(slots=True)
class WritingOrder:
    """One program that is being written. ``deliver`` gets what the client was told, for clients that show no choice."""

    number: int
    uri: str
    work: Work[Any, Any]
    deliver: Callable[[News], Awaitable[None]] | None
    job: Job[Any]


def _isolation(request: FunctionRequest | SizesRequest | ProposeRequest) -> Isolation:
    """Return what a worker may do: a function is run, what a model answers is judged in a worker of the job's own."""
    if isinstance(request, SizesRequest):
        return isolation_for(Path(request.path))
    entry = BY_NAME.get(request.proposer or "")
    return Isolation("user") if entry is not None and entry.asks else TEXT


# Puts the best of several programs first, which were written for a module by a request.
Rank: TypeAlias = (
    "Callable[[Module, ProposeRequest | FunctionRequest, tuple[Solution, ...]], Awaitable[tuple[Solution, ...]]]"
)


class Writing:
    """All orders of this server, and the workers that carry them out: one pool for each interpreter."""

    def __init__(
        self, workspace: Workspace, documents: Documents, editor: Editor, reporter: Reporter, rank: Rank
    ) -> None:
        self._rank = rank
        self._workspace = workspace
        self._documents = documents
        self._editor = editor
        self._reporter = reporter
        self._pools = AgentPools(workspace)
        self._orders: dict[int, WritingOrder] = {}
        self._last = 0

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers."""
        return self._pools.worker_pids

    def write(self, module: Module, text: str, order: WriteOrder) -> tuple[int, str]:
        """Begin to write a program for a task; returns the order's number, or 0 and why it cannot be done."""
        request = ProposeRequest(path=module.path, text=text, **shared(WritingOptions, order))
        entry = BY_NAME.get(request.proposer or "", SEARCH)
        seconds = (entry.seconds if request.seconds is None else request.seconds) + _GRACE

        async def deliver(told: News) -> None:
            if told.solutions:
                await self._apply(module.uri, told.solutions[0].impl)

        work = Work(PROPOSE, request, seconds, _news, _proposed)
        return self.start(module, work, deliver if order.apply else None, order.asker)

    def start(
        self,
        module: Module,
        work: Work[Any, Any],
        deliver: Callable[[News], Awaitable[None]] | None = None,
        asker: str = "",
    ) -> tuple[int, str]:
        """Have a worker do ``work`` for ``asker``; returns the order's number, or 0 and why it cannot be done."""
        if not self._workspace.is_trusted:
            return 0, "this workspace is not trusted: nothing is run in it"
        if len(self._orders) >= _MOST_AT_ONCE:
            return 0, f"{_MOST_AT_ONCE} programs are being written already"
        self._last += 1
        number, loop = self._last, asyncio.get_running_loop()

        def progress(data: WritingProgress) -> None:
            loop.call_soon_threadsafe(self._tell, number, "running", work.progress(data))

        def ask(question: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(answer_of_model(self._editor, question, asker), loop).result()

        pool, isolation = self._pools.of(module), _isolation(work.request)
        job = pool.submit(
            work.kind, work.request, seconds=work.seconds, on_progress=progress, on_ask=ask, isolation=isolation
        )
        order = self._orders[number] = WritingOrder(number, module.uri, work, deliver, job)
        self._reporter.start("writing a program", self._follow(order))
        return number, ""

    def stop(self, number: int | None = None) -> int:
        """Cancel one order, or all; returns how many."""
        orders = [order for order in self._orders.values() if number in (None, order.number)]
        for order in orders:
            order.job.cancel()
        return len(orders)

    async def reset(self) -> None:
        """Cancel everything and end the workers; the next order starts them anew."""
        self.stop()
        await self._pools.reset()

    def close(self) -> None:
        """Kill all workers and wait for it; for the end of the process."""
        self._pools.close()

    async def _follow(self, order: WritingOrder) -> None:
        """Wait for a job and tell its end, whatever it is."""
        state: OrderState = "failed"
        told = News(message="the job ended without a result", solutions=())
        try:
            told = order.work.result(await asyncio.wrap_future(order.job.future))
            told = await self._ranked(order, told)
            state = "done"
        except (JobCancelled, asyncio.CancelledError):
            state, told = "cancelled", News(message="cancelled", solutions=())
        except JobError as error:
            told = News(message=error.message, code=error.code, detail=error.detail, solutions=())
        finally:
            self._tell(order.number, state, told)
            self._orders.pop(order.number, None)
        if order.deliver is not None and state != "cancelled":
            await order.deliver(told)

    async def _ranked(self, order: WritingOrder, told: News) -> News:
        """Return the news of an order's end with the best program first."""
        module, request = self._documents.module_of(order.uri), order.work.request
        if module is None or not told.solutions or not isinstance(request, ProposeRequest | FunctionRequest):
            return told
        return replace(told, solutions=await self._rank(module, request, told.solutions))

    def _tell(self, number: int, state: OrderState, news: News) -> None:
        order = self._orders.get(number)
        if order is not None:
            self._editor.tell(TOLD, WritingParams(id=number, uri=order.uri, state=state, **shared(News, news)))

    def with_impl(self, order: ImplOrder) -> TextWithImpl:
        """Return the present text of a document with the program of ``order``, or "" and why that cannot be."""
        from stepcore.findings.diagnostics import apply_edits
        from stepcore.ide.implement import impl_edit

        module = self._documents.module_of(order.uri)
        if module is None or module.is_notebook:
            return TextWithImpl("", "the document is not open any more")
        text = module.texts[0].source.text
        try:
            return TextWithImpl(apply_edits(text, [impl_edit(text, order.impl)]), "")
        except ValueError as error:
            return TextWithImpl("", str(error))

    async def _apply(self, uri: str, impl: str) -> None:
        """Have the client put a program into the document."""
        from lsprotocol import types

        made = self.with_impl(ImplOrder(uri, impl))
        if made.message:
            self._reporter.tell(types.MessageType.Warning, f"Stepsmith: {made.message}")
            return
        module = self._documents.module_of(uri)
        lines = 0 if module is None else module.texts[0].source.text.count("\n") + 1
        edits = [types.TextEdit(types.Range(types.Position(0, 0), types.Position(lines, 0)), made.text)]
        if self._workspace.client.document_changes:
            document = types.OptionalVersionedTextDocumentIdentifier(uri, None if module is None else module.version)
            edit = types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(document, list(edits))])
        else:
            edit = types.WorkspaceEdit(changes={uri: edits})
        params = types.ApplyWorkspaceEditParams(edit, "Write impl")
        await self._editor.ask(types.WORKSPACE_APPLY_EDIT, params)


def _news(progress: WritingProgress) -> News:
    """Return what the client is told of a job ``propose`` that goes on."""
    stage, candidates = progress.stage or None, progress.candidates or None
    return News(progress.text, stage, candidates, progress.spent, progress.answer)


def _proposed(found: ProposeResult) -> News:
    """Return what the client is told of a job ``propose`` at its end."""
    message = "" if found.solutions else found.reason
    return News(message=message, candidates=found.candidates, solutions=found.solutions)
