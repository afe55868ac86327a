"""A job as its owner sees it, and its limits."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import Future, InvalidStateError, wait
from typing import Any, Final, Generic, TypeAlias, TypeVar

from stepcore.isolation import Isolation
from stepcore.jobdata.failures import Failure
from stepcore.jobdata.kinds import JobKind, Request, Result
from stepcore.jobdata.plain import Mistyped, from_plain, to_plain
from stepcore.jobs.messages import JobCancelled, JobError
from stepcore.jobs.process import WAKE, WorkerProcess
from stepcore.records import Record

log = logging.getLogger(__name__)

_LOOK: Final = 0.2  # seconds between two questions to an owner who may stop waiting
_T = TypeVar("_T")
OnProgress: TypeAlias = Callable[[Any], None]
OnAsk: TypeAlias = Callable[[Any], Any]


def _ignore(_data: Any) -> None:
    """Progress that nobody wants."""


def _refuse(_question: Any) -> Any:
    raise JobError("STEP911", "this owner answers no questions")


class Limits(Record):
    """Limits of a job: ``seconds`` of work, see :mod:`stepcore.jobs.effort`, ``memory`` in bytes (None: no limit).

    ``memory`` counts what a worker and all that it starts hold beyond its own start, together; ``start_seconds`` bounds
    the start of a worker, in seconds of work, too. ``parts``: a job may say so often that it begins a part (progress
    with ``part``), for which ``seconds`` count anew.
    """

    seconds: float | None = 60.0
    memory: int | None = 4 << 30
    start_seconds: float = 120.0
    parts: int = 0


class Job(Generic[Result]):
    """A submitted job. ``future`` suits ``asyncio.wrap_future``; :meth:`cancel` works at any time.

    ``kind`` and ``payload`` are as messages have them.
    """

    def __init__(
        self,
        number: int,
        kind: JobKind[Request, Any, Result],
        request: Request,
        seconds: float | None,
        isolation: Isolation | None = None,
    ) -> None:
        self.number = number
        self.key = secrets.token_hex(16)  # its name in messages
        self.isolation = isolation or Isolation()
        self._kind = kind
        self.kind = self._kind.name
        self.payload = to_plain(request)
        self.seconds = seconds
        self.parts = 0  # that it may still begin
        self.on_progress: OnProgress = _ignore
        self.on_ask: OnAsk = _refuse
        self.future: Future[Result] = Future()
        self.cancelled = False
        self.concluded = False
        self.worker: WorkerProcess | None = None  # while it runs

    def result(self, timeout: float | None = None) -> Result:
        """Return the job's value.

        Raises:
            JobError: it failed, was killed for its limits, or its worker crashed.
            JobCancelled: it was cancelled, or the pool was closed.
            TimeoutError: it is still running after ``timeout`` seconds (the job goes on).
        """
        return self.future.result(timeout)

    def result_unless(self, is_over: Callable[[], bool]) -> Result:
        """Return the job's value, or cancel it once ``is_over`` says that nobody waits for it any more.

        Raises:
            JobError: as :meth:`result`.
            JobCancelled: as :meth:`result`, and where it is over; the job may still need a moment to end.
        """
        while not self.future.done():
            if is_over():
                self.cancel()
                raise JobCancelled
            wait([self.future], _LOOK)
        return self.future.result(0)  # it is there

    def cancel(self) -> None:
        """Ask the job to stop; a running one that does not react within half a second of work is killed."""
        self.cancelled = True
        worker = self.worker
        if worker is not None:
            worker.events.put(WAKE)
        else:
            self.future.cancel()

    def conclude(self) -> None:
        """Ask the job to end with what it has; one that does not look at ``Context.concluded`` goes on."""
        self.concluded = True
        worker = self.worker
        if worker is not None:
            worker.events.put(WAKE)

    def tell(self, data: Any) -> None:
        """Hand on what the worker tells on its way.

        Raises:
            JobError: that is no progress of this kind of job.
        """
        self.on_progress(self._read(self._kind.progress, data))

    def value(self, data: Any) -> Result:
        """Return the result that the worker gave.

        Raises:
            JobError: that is no result of this kind of job.
        """
        return self._read(self._kind.result, data)

    def failure(self, event: Mapping[str, Any]) -> JobError:
        """Return the error that the worker gave in the message ``event``.

        Raises:
            JobError: it cannot be read.
        """
        found = self._read(Failure, {key: value for key, value in event.items() if key not in ("type", "job")})
        return JobError(found.code, found.message, found.detail, found.trace)

    def _read(self, kind: type[_T], data: Any) -> _T:
        try:
            return from_plain(kind, data)
        except Mistyped as error:
            text = f"the worker was stopped: what it says of the job {self.kind!r} cannot be used ({error})"
            raise JobError("STEP407", text) from error

    def finish(self, value: Any = None, error: BaseException | None = None) -> None:
        """End the job; later calls have no effect."""
        try:
            if isinstance(error, JobCancelled):
                if not self.future.cancel():
                    self.future.set_exception(error)
            elif error is not None:
                self.future.set_exception(error)
            else:
                self.future.set_result(value)
        except InvalidStateError:
            log.debug("job %d had ended already", self.number)
