"""What runs on a node of a Ray cluster: a pool with one worker process, and a box for what its job tells.

An ordinary class without a trace of Ray; :mod:`stepagents.executors.ray.executor` makes an actor of it.
"""

from __future__ import annotations

import itertools
import os
import queue
import sys
from typing import Any, Final, TypeAlias

from stepcore.isolation import TEXT
from stepcore.jobdata.kinds import untyped
from stepcore.jobs import Job, JobCancelled, JobError, Limits, Pool
from stepcore.jobs.process import clean_environment
from stepcore.version import VERSION

Event: TypeAlias = tuple[Any, ...]

_GATHER_SECONDS: Final = 0.02  # events that come together travel together
_OWN: Final = "RAY_"  # variables by which Ray's processes know each other


class RaySlot:
    """Runs one job at a time. Its methods are called from several threads.

    ``events`` tells ``("progress", data)``, ``("ask", number, question)`` and at last one of ``("result", value)``,
    ``("error", code, message, detail)`` and ``("cancelled",)``.
    """

    def __init__(self, module: str, memory: int | None, start_seconds: float) -> None:
        for name in foreign_credentials():
            del os.environ[name]
        limits = Limits(seconds=None, memory=memory, start_seconds=start_seconds)
        self._pool = Pool((sys.executable, "-P", "-m", module), size=1, limits=limits, isolation=TEXT)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._numbers = itertools.count(1)
        self._answers: dict[int, queue.SimpleQueue[tuple[Any, str]]] = {}
        self._job: Job[Any] | None = None

    def hello(self) -> str:
        """Return the version of this node's Stepsmith."""
        return VERSION

    def begin(self, kind: str, payload: Any, seconds: float | None) -> None:
        """Start a job; what it tells goes into a fresh box."""
        box: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._events = box
        job = self._pool.submit(
            untyped(kind),
            payload,
            seconds=seconds,
            on_progress=lambda data: box.put(("progress", data)),
            on_ask=lambda question: self._ask(box, question),
        )
        self._job = job
        job.future.add_done_callback(lambda _future: box.put(_ending(job)))

    def events(self, seconds: float) -> list[Event]:
        """Return what happened; waits up to ``seconds`` for something."""
        found: list[Event] = []
        try:
            found.append(self._events.get(timeout=seconds))
            while True:
                found.append(self._events.get(timeout=_GATHER_SECONDS))
        except queue.Empty:
            return found

    def cancel(self) -> None:
        """Cancel the job."""
        if self._job is not None:
            self._job.cancel()

    def answer(self, number: int, value: Any, failure: str) -> None:
        """Answer a question of the job; ``failure`` says why there is no answer."""
        waiting = self._answers.pop(number, None)
        if waiting is not None:
            waiting.put((value, failure))

    def _ask(self, box: queue.SimpleQueue[Event], question: Any) -> Any:
        number = next(self._numbers)
        waiting = self._answers[number] = queue.SimpleQueue()
        box.put(("ask", number, question))
        value, failure = waiting.get()
        if failure:
            raise JobError("STEP911", failure)
        return value


def foreign_credentials() -> list[str]:
    """Return the names of variables of this process that look like credentials and are not Ray's own."""
    hidden = os.environ.keys() - clean_environment(os.environ, {}).keys()
    return sorted(name for name in hidden if not name.startswith(_OWN))


def _ending(job: Job[Any]) -> Event:
    """Return the last event of a job."""
    try:
        return ("result", job.result(0))
    except JobCancelled:
        return ("cancelled",)
    except JobError as error:
        return ("error", error.code, error.message, error.detail)
