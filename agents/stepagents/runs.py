"""The search as a sampler: one job for each task, on an executor. No torch here."""

from __future__ import annotations

import queue
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from threading import Event
from typing import Any, Final

from stepagents.executors.executor import Executor
from stepagents.sampling import Experience, Order, Sampled
from stepcore.findings.codes import about
from stepcore.jobs import Job, JobCancelled, JobError

_GRACE: Final = 10.0  # seconds that a search has to end by itself before its worker is killed
_LOOK_SECONDS: Final = 0.2  # between two looks at ``stop``
INTERRUPTED: Final = "interrupted"


class SearchSampler:
    """The built-in search; see :class:`stepagents.sampling.Sampler`. Demonstrations become a prior over its moves."""

    name: Final = "search"

    def __init__(self, executor: Executor, warn: Callable[[str], None] = lambda _text: None) -> None:
        """Search on ``executor``; ``warn`` is told why demonstrations go unused."""
        self._executor = executor
        self._warn = warn

    def sample(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience] = (),
        *,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[Sampled]:
        """Search a program for each order, as many at a time as the executor has workers."""
        ended: queue.SimpleQueue[tuple[Order, Job[Any]]] = queue.SimpleQueue()
        running: set[Job[Any]] = set()
        left = deque(orders)
        try:
            costs = self._costs(demonstrations, stop or Event())
            while left or running:
                if stop is not None and stop.is_set():
                    _cancel(running)
                    yield from (Sampled(item.task, item.path, self.name, reason=INTERRUPTED) for item in left)
                    left.clear()
                while left and len(running) < self._executor.size:  # the next only if the budget allows it
                    order = left.popleft()
                    job = self._submit(order, costs, tell)
                    running.add(job)
                    job.future.add_done_callback(partial(_put, ended, order, job))
                try:
                    order, job = ended.get(timeout=_LOOK_SECONDS if running else 0.0)
                except queue.Empty:
                    continue
                running.discard(job)
                yield _sampled(self.name, order, job)
        finally:
            _cancel(running)

    def _submit(self, order: Order, costs: Any, tell: Callable[[str], None]) -> Job[Any]:
        def progress(data: Any) -> None:
            tell(f"{order.task}: {data['candidates']:,} candidates")

        payload = {
            "path": order.path,
            "text": order.text,
            "seconds": order.seconds,
            "candidates": order.samples,
            "seed": order.seed,
            "costs": costs,
        }
        return self._executor.submit("search", payload, seconds=order.seconds + _GRACE, on_progress=progress)

    def _costs(self, demonstrations: Sequence[Experience], stop: Event) -> Any:
        """Return the costs of the search's moves after seeing ``demonstrations``; None for the built-in ones."""
        if not demonstrations:
            return None
        job = self._executor.submit("prior", {"experiences": [asdict(item) for item in demonstrations]})
        while True:
            try:
                return job.result(_LOOK_SECONDS)
            except TimeoutError:
                if stop.is_set():
                    job.cancel()
            except JobCancelled:
                return None
            except JobError as error:
                self._warn(f"experience cannot be used: {error.code} {error.message}")
                return None


def _put(ended: queue.SimpleQueue[tuple[Order, Job[Any]]], order: Order, job: Job[Any], _future: object) -> None:
    ended.put((order, job))


def _cancel(jobs: set[Job[Any]]) -> None:
    for job in jobs:
        if not job.cancelled:
            job.cancel()


def _sampled(name: str, order: Order, job: Job[Any]) -> Sampled:
    """Return what came of a job that has ended."""
    sampled = Sampled(order.task, order.path, name)
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
        sampled.solutions = [found["impl"]] if found["solved"] else []
        sampled.answers, sampled.accepted = found["candidates"], int(found["solved"])
        sampled.seconds = found["seconds"]
        sampled.reason = INTERRUPTED if job.cancelled and not found["solved"] else found["reason"]
        sampled.outcomes = Counter(found.get("outcomes", {}))
        sampled.note = found.get("note", "")
    return sampled
