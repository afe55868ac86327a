"""A verdict is shown as soon as it is decided, and stands only when its run came to an end.

In one process, without workers: the parts of a server, and simulators that do what a test says.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types

from job_records import run_of
from server_texts import GOOD, HEAD
from stepcore.findings.verdict import NOTHING_WRONG, FunctionalPart, Untested, as_row
from stepcore.jobdata.editor import ProgramStatus
from stepcore.jobdata.failures import Reads
from stepcore.jobdata.programs import Decided, OperatorsDone, SimulateRequest, SimulateResult, VerdictRow
from stepcore.jobs import JobError
from stepserver.app import Server
from stepserver.documents import Module
from stepserver.handlers.programs import code_lens
from stepserver.simulation import PROGRAMS
from stepserver.simulators import Simulator, verdicts_for

TEXT = HEAD + GOOD
WRONG = TEXT.replace("input[0] * 2", "input[0] * 3")
CRASHED = JobError("STEP407", "the worker process ended with SIGKILL")


def verdict_of(*, ok: bool = True, untested: Untested | None = None) -> VerdictRow:
    part = FunctionalPart(True) if ok else FunctionalPart(False, "not on other data", 1.0, code="STEP401")
    return as_row("good", "file.py", replace(NOTHING_WRONG.ran(part, untested=untested), seconds=0.1))


def ended(verdict: VerdictRow) -> SimulateResult:
    return replace(run_of(), verdict=verdict)


@dataclass
class FakeJob:
    """One simulation that a test brings to its verdict and to its end."""

    request: SimulateRequest
    tell: Callable[[Decided], None]
    end: asyncio.Future[SimulateResult]

    def decide(self, *, ok: bool = True) -> None:
        self.tell(Decided(verdict_of(ok=ok), Reads({}, ())))

    @property
    def is_right(self) -> bool:
        """Whether it ended with a verdict that accepts the program."""
        if not self.end.done() or self.end.cancelled() or self.end.exception() is not None:
            return False
        verdict = self.end.result().verdict
        return verdict is not None and verdict.accepted


@dataclass
class Fake:
    """A simulator that starts everything and ends nothing."""

    jobs: list[FakeJob] = field(default_factory=list)

    def warm(self, _module: Module) -> None:
        pass

    async def run(
        self,
        request: SimulateRequest,
        _seconds: float,
        started: Callable[[], None],
        decided: Callable[[Decided], None],
    ) -> SimulateResult:
        started()
        job = FakeJob(request, decided, asyncio.get_running_loop().create_future())
        self.jobs.append(job)
        return await job.end


class Desk:
    """One open document, and what its client was told."""

    def __init__(self, folder: Path, name: str = "file.py", text: str = TEXT) -> None:
        self.parts = Server().parts
        inbox: Any = SimpleNamespace(wake=lambda: None)
        self.parts.loop.start(inbox)
        self.fake = Fake()
        self.told: list[ProgramStatus] = []
        editor: Any = self.parts.editor
        editor.tell = self._tell
        editor.publish = editor.refresh = lambda *_: None
        simulators: Any = self.parts.simulators
        simulators.of = lambda _module: self.fake
        self.uri = (folder / name).as_uri()
        language = types.LanguageKind.Python if name.endswith(".py") else types.LanguageKind.Yaml
        self.parts.documents.open(types.TextDocumentItem(self.uri, language, 1, text))
        found = self.parts.documents.module_of(self.uri)
        assert found is not None
        self.module = found

    def _tell(self, method: str, params: Any) -> None:
        if method == PROGRAMS:
            self.told.append(params.programs[0])

    @property
    def job(self) -> FakeJob:
        return self.fake.jobs[-1]

    async def save(self) -> FakeJob:
        await self.parts.simulation.start(self.module, on_save=True)
        await settled()
        return self.job

    async def edit(self, text: str) -> None:
        change = types.TextDocumentContentChangeWholeDocument(text)
        identifier = types.VersionedTextDocumentIdentifier((self.module.version or 0) + 1, self.uri)
        self.parts.documents.change(types.DidChangeTextDocumentParams(identifier, [change]))
        await self.parts.analyses.of(self.module)

    async def row(self) -> ProgramStatus:
        await settled()
        (found,) = self.parts.simulation.rows(self.module, await self.parts.analyses.of(self.module))
        return found

    async def codes(self) -> list[str]:
        found = self.parts.simulation.diagnostics(self.module, await self.parts.analyses.of(self.module))
        return [item.code for item in found]

    async def lens(self) -> tuple[str, str]:
        lenses = await code_lens(self.parts, types.CodeLensParams(types.TextDocumentIdentifier(self.uri)))
        assert lenses is not None
        (found,) = lenses
        assert found.command is not None
        return found.command.title, found.command.command.rpartition(".")[2]


async def settled() -> None:
    """Let all run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


def at_desk(work: Callable[[Desk], Awaitable[None]], folder: Path) -> None:
    """Do ``work``; whatever it left running is stopped, and says so."""

    async def done() -> None:
        desk = Desk(folder)
        await work(desk)
        desk.parts.simulation.cancel()
        row = await desk.row()
        assert not row.provisional, row
        desk.parts.analyses.close()

    asyncio.run(done())


async def shown(desk: Desk, state: str, *, provisional: bool = False) -> ProgramStatus:
    row = await desk.row()
    assert (row.state, row.provisional) == (state, provisional), row
    return row


def test_a_verdict_is_shown_before_it_is_examined(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        job = await desk.save()
        await shown(desk, "running")
        job.decide()
        row = await shown(desk, "passed", provisional=True)
        assert "still examined" in row.message
        assert row.seconds is None
        assert desk.told[-1] == row, "the client was told"
        assert await desk.codes() == []
        assert await desk.lens() == ("Cancel | passed so far", "cancel")
        job.end.set_result(ended(verdict_of(untested=Untested(("W",)))))
        row = await shown(desk, "passed")
        assert "examined" not in row.message
        assert row.seconds is not None
        assert desk.told[-1] == row
        assert await desk.codes() == ["STEP415"]
        assert await desk.lens() == ("Simulate | passed", "simulate")

    at_desk(work, tmp_path)


def test_what_is_wrong_is_shown_before_its_streams_are(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        job = await desk.save()
        job.decide(ok=False)
        row = await shown(desk, "failed", provisional=True)
        assert "examined" not in row.message
        assert await desk.codes() == ["STEP401"]
        job.end.set_result(ended(verdict_of(ok=False)))
        await shown(desk, "failed")
        assert await desk.codes() == ["STEP401"]

    at_desk(work, tmp_path)


def test_stronger_data_take_a_green_back(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        job = await desk.save()
        job.decide()
        await shown(desk, "passed", provisional=True)
        job.end.set_result(ended(verdict_of(ok=False)))
        assert "not on other data" in (await shown(desk, "failed")).message
        assert desk.told[-1].state == "failed"
        assert await desk.codes() == ["STEP401"]

    at_desk(work, tmp_path)


@pytest.mark.parametrize("error", [CRASHED, JobError("STEP405", "stopped after 60 s"), RuntimeError("ours")])
def test_an_examination_without_an_end_leaves_no_verdict(error: Exception, tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        job = await desk.save()
        job.decide()
        await settled()
        reporter: Any = desk.parts.reporter
        reporter.crash = lambda *_: None
        job.end.set_exception(error)
        row = await shown(desk, "error")
        assert desk.told[-1] == row
        if isinstance(error, JobError):
            assert error.code in row.message
            assert "not examined to its end" in row.message
            assert await desk.codes() == [error.code]
        await desk.save()
        assert len(desk.fake.jobs) == 2, "a save tries it again"

    at_desk(work, tmp_path)


def test_a_cancelled_examination_found_nothing(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        job = await desk.save()
        job.decide(ok=False)
        await settled()
        assert desk.parts.simulation.cancel(desk.uri, "good") == 1
        await shown(desk, "cancelled")
        assert job.end.cancelled(), "the job is stopped"
        assert await desk.codes() == []
        job.decide()  # it was on its way
        await shown(desk, "cancelled")
        assert desk.parts.simulation.cancel() == 0

    at_desk(work, tmp_path)


def test_a_newer_save_supersedes_the_examination(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        first = await desk.save()
        first.decide()
        await shown(desk, "passed", provisional=True)
        assert await desk.save() is first, "the same text is being run"
        await desk.edit(WRONG)
        row = await shown(desk, "stale", provisional=True)
        assert (row.was, row.because) == ("passed", "the text changed")
        assert (await desk.lens())[1] == "simulate"
        second = await desk.save()
        assert second is not first
        assert first.end.cancelled()
        await shown(desk, "running")
        first.decide()
        await shown(desk, "running")
        second.decide(ok=False)
        await shown(desk, "failed", provisional=True)
        second.end.set_result(ended(verdict_of(ok=False)))
        await shown(desk, "failed")

    at_desk(work, tmp_path)


def test_a_file_that_changes_meanwhile_outdates_the_verdict(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        file = tmp_path / "data.txt"
        watch: Any = desk.parts.watch
        watch.follow = lambda _files: None
        job = await desk.save()
        job.tell(Decided(verdict_of(), Reads({str(file): "the mark of another text"}, ())))
        row = await shown(desk, "stale", provisional=True)
        assert row.because == "data.txt changed"

    at_desk(work, tmp_path)


@pytest.mark.parametrize("seed", range(8))
def test_a_green_that_stays_is_that_of_a_whole_run(seed: int, tmp_path: Path) -> None:
    """Whatever happens in whatever order: green is provisional, or the last run of this very text accepts it."""
    rng = random.Random(seed)

    async def happen(desk: Desk) -> None:
        jobs = [job for job in desk.fake.jobs if not job.end.done()]
        what = rng.randrange(7 if jobs else 2)
        if what == 0:
            await desk.save()
        elif what == 1:
            await desk.edit(TEXT.replace("input[0] * 2", f"input[0] * {rng.randrange(4)}"))
        elif what == 2:
            desk.parts.simulation.cancel()
        elif what in (3, 4):
            rng.choice(jobs).decide(ok=rng.random() < 0.8)
        elif what == 5:
            rng.choice(jobs).end.set_exception(CRASHED)
        else:
            rng.choice(jobs).end.set_result(ended(verdict_of(ok=rng.random() < 0.5)))
        await settled()

    async def work(desk: Desk) -> None:
        seen = set()
        await desk.save()
        for _ in range(150):
            await happen(desk)
            row = await desk.row()
            last = desk.job
            assert row.provisional <= (not last.end.done()), row
            if row.state == "passed" and not row.provisional:
                assert last.is_right, row
                assert last.request.text == desk.module.source.text
            seen.add((row.state, row.provisional))
        assert {("passed", True), ("passed", False), ("failed", False), ("error", False)} <= seen

    at_desk(work, tmp_path)


def test_a_closed_document_leaves_no_examination_behind(tmp_path: Path) -> None:
    async def work(desk: Desk) -> None:
        job = await desk.save()
        job.decide()
        await settled()
        desk.parts.simulation.close(desk.module)
        await settled()
        assert job.end.cancelled()

    at_desk(work, tmp_path)


def test_a_server_that_closes_hears_of_no_verdict() -> None:
    """A pool's thread may tell one when the loop is gone: that is no crash of the pool."""
    heard: list[Decided] = []
    decided = Decided(verdict_of(), Reads({}, ()))

    async def made() -> Callable[[Any], None]:
        progress = verdicts_for(heard.append)
        progress(OperatorsDone(0, 1))
        progress(decided)
        await settled()
        return progress

    progress = asyncio.run(made())
    assert heard == [decided]
    progress(decided)
    assert heard == [decided]


def test_a_real_simulator_takes_the_same_arguments() -> None:
    """What this file puts in its place is called as it is."""
    import inspect

    names = [inspect.signature(kind.run).parameters for kind in (Simulator, Fake)]
    assert [name.strip("_") for name in names[0]] == [name.strip("_") for name in names[1]]
