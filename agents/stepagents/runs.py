"""Proposers that work in the worker, as samplers: one job for each task, on an executor. No torch here."""

from __future__ import annotations

import queue
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Final

from stepagents.executors.executor import Executor
from stepagents.sampling import Order, Sampled
from stepcore.findings.codes import about
from stepcore.jobdata.writing import (
    Experience,
    PriorRequest,
    ProposeRequest,
    SampleResult,
    WritingProgress,
    prior_kind,
    sample_kind,
)
from stepcore.jobs import Job, JobCancelled, JobError
from stepcore.jobs.proposers import SEARCH, ProposerEntry
from stepcore.records import Record

_GRACE: Final = 10.0  # seconds that a search has to end by itself before its worker is killed
_LOOK_SECONDS: Final = 0.2  # between two looks at ``stop``
INTERRUPTED: Final = "interrupted"


@dataclass(slots=True)
class _Tried:
    """How many candidates a job told of."""

    candidates: int = 0


class _Begun(Record):
    """An order that a job works on."""

    order: Order
    job: Job[SampleResult]
    tried: _Tried


class WorkerSampler:
    """A proposer of the worker, the search unless another is named; see :class:`stepagents.sampling.Sampler`.

    Demonstrations go along with its orders, or become a prior where it has one.
    """

    def __init__(
        self, executor: Executor, proposer: ProposerEntry = SEARCH, warn: Callable[[str], None] = lambda _text: None
    ) -> None:
        """Order on ``executor``; ``warn`` is told why demonstrations go unused."""
        self._executor = executor
        self._proposer = proposer
        self._warn = warn

    @property
    def name(self) -> str:
        """The proposer, as results and experiences name it."""
        return self._proposer.name

    def sample(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience] = (),
        *,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[Sampled]:
        """Have a program written for each order, as many at a time as the executor has workers."""
        ended: queue.SimpleQueue[_Begun] = queue.SimpleQueue()
        running: set[Job[SampleResult]] = set()
        left = deque(orders)
        try:
            learned = self._learned(demonstrations, stop or Event())
            while left or running:
                if stop is not None and stop.is_set():
                    _cancel(running)
                    yield from (Sampled(item.task, item.path, self.name, reason=INTERRUPTED) for item in left)
                    left.clear()
                while left and len(running) < self._executor.size:  # the next only if the budget allows it
                    begun = self._submit(left.popleft(), learned, tell)
                    running.add(begun.job)
                    begun.job.future.add_done_callback(partial(_put, ended, begun))
                try:
                    begun = ended.get(timeout=_LOOK_SECONDS if running else 0.0)
                except queue.Empty:
                    continue
                running.discard(begun.job)
                yield _sampled(self.name, begun)
        finally:
            _cancel(running)

    def _submit(self, order: Order, learned: Mapping[str, Any], tell: Callable[[str], None]) -> _Begun:
        tried = _Tried()

        def progress(data: WritingProgress) -> None:
            tried.candidates = max(tried.candidates, data.candidates)
            tell(f"{order.task}: {data.candidates:,} candidates")

        request = ProposeRequest(
            path=order.path,
            text=order.text,
            solutions=1,
            seconds=order.seconds,
            samples=order.samples,
            seed=order.seed,
            **learned,
        )
        kind = sample_kind(self.name)
        job = self._executor.submit(kind, request, seconds=order.seconds + _GRACE, on_progress=progress)
        return _Begun(order, job, tried)

    def _learned(self, demonstrations: Sequence[Experience], stop: Event) -> dict[str, Any]:
        """Return what ``demonstrations`` add to each order: themselves, or what the proposer's prior makes of them."""
        if not demonstrations:
            return {}
        experiences = tuple(demonstrations)
        if not self._proposer.prior:
            return {"experiences": experiences}
        job = self._executor.submit(prior_kind(self._proposer.prior), PriorRequest(experiences))
        try:
            return {"costs": job.result_unless(stop.is_set)}
        except JobCancelled:
            return {}
        except JobError as error:
            self._warn(f"experience cannot be used: {error.code} {error.message}")
            return {}


def _put(ended: queue.SimpleQueue[_Begun], begun: _Begun, _future: object) -> None:
    ended.put(begun)


def _cancel(jobs: set[Job[SampleResult]]) -> None:
    for job in jobs:
        if not job.cancelled:
            job.cancel()


def _sampled(name: str, begun: _Begun) -> Sampled:
    """Return what came of a job that has ended. One that was ended still tried what it told last."""
    order, job = begun.order, begun.job
    sampled = Sampled(order.task, order.path, name, answers=begun.tried.candidates)
    try:
        found = job.result(0)
    except JobCancelled:
        sampled.reason = INTERRUPTED
    except JobError as error:
        text = f"{error.place(order.path)}: {error.code} {error.message}"
        if about(error.code).ended_a_run:
            sampled.reason = text
        else:
            sampled.problem = text
        sampled.outcomes = Counter({error.code: 1})
    else:
        sampled.solutions = [found.impl] if found.solved else []
        sampled.answers, sampled.accepted = found.candidates, int(found.solved)
        sampled.seconds = found.seconds
        sampled.reason = INTERRUPTED if job.cancelled and not found.solved else found.reason
        sampled.note = found.note
    return sampled
