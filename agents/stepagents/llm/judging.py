"""Verdicts on the answers to one task, from workers; equal programs are judged once."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor as Threads
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Final

from stepcore.findings.codes import about
from stepcore.jobdata.judging import JUDGE, JudgeRequest, JudgeResult
from stepcore.jobs import Job, JobCancelled, JobError

if TYPE_CHECKING:
    from stepagents.executors.executor import Executor

_PREPARE_SECONDS: Final = 60.0  # for a reference, however short the time of a candidate is


class TaskProblem(Exception):
    """The task itself cannot be used; the message says where and why."""


class TaskJudge:
    """The judge of one task. For one event loop; the jobs are waited for in ``threads``."""

    def __init__(self, executor: Executor, threads: Threads, path: str, text: str, seconds: float) -> None:
        self._executor = executor
        self._threads = threads
        self._task = JudgeRequest(path, text)
        self._seconds = seconds
        self._known: dict[bool, dict[str, JudgeResult]] = {False: {}, True: {}}

    async def prepare(self) -> None:
        """Try the task before anything is paid for it.

        Raises:
            TaskProblem: it cannot be read, or its reference fails.
        """
        try:
            await self._do(self._task, max(self._seconds, _PREPARE_SECONDS))
        except JobError as error:
            raise TaskProblem(f"{error.place(self._task.path)}: {error.code} {error.message}") from error

    async def judge(self, answer: str, *, guarded: bool) -> JudgeResult:
        """Return the verdict on one answer. Whatever it does to its worker costs no more than the time limit."""
        known = self._known[guarded]
        stages = {key: verdict.stage for key, verdict in known.items()}
        try:
            request = replace(self._task, answer=answer, guarded=guarded, known=stages)
            (found,) = await self._do(request, self._seconds)
        except JobError as error:
            info = about(error.code)
            return JudgeResult(f"judge: {info.outcome if info.stopped else error.code}", error.message)
        if found.repeated and found.key in known:
            return replace(known[found.key], impl=found.impl, repeated=True)
        if found.key:
            known.setdefault(found.key, found)
        return found

    async def _do(self, request: JudgeRequest, seconds: float) -> tuple[JudgeResult, ...]:
        """Run one job; it is cancelled when this is."""
        started: list[Job[tuple[JudgeResult, ...]]] = []
        gone = Event()

        def run() -> tuple[JudgeResult, ...]:
            if gone.is_set():
                return ()
            job = self._executor.submit(JUDGE, request, seconds=seconds)
            started.append(job)
            if gone.is_set():
                job.cancel()
            try:
                return job.result()
            except JobCancelled:  # asyncio would take it for a cancellation of its own
                raise JobError("STEP407", "the judge was stopped") from None

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, run)
        finally:
            gone.set()
            for job in started:
                job.cancel()
