"""The owner's side: a pool of worker processes with limits on time and memory.

Invariants: a job ends exactly once, with a value or an exception; a job that is killed costs no other job
anything but the start of a fresh worker; no worker outlives its owner; jobs that may do different things never meet in
one worker.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stepcore.findings.codes import Phase, about
from stepcore.isolation import OVER_MEMORY, Isolation
from stepcore.jobdata.kinds import JobKind, Progress, Request, Result, untyped
from stepcore.jobs.effort import Effort, usage_of_tree
from stepcore.jobs.job import Job, Limits, OnAsk
from stepcore.jobs.messages import JobCancelled, JobError
from stepcore.jobs.process import ENDED, WorkerProcess, not_started
from stepcore.system.scarce import reason_of, what_is_scarce
from stepcore.text.wording import one_line

log = logging.getLogger(__name__)

_CANCEL_GRACE: Final = 0.5  # seconds of work that a job has to notice a cancellation before its worker is killed
_START_ATTEMPTS: Final = 2
_MAX_BACKOFF: Final = 5.0
_LOOK: Final = 0.25  # seconds between two looks at a job that tells nothing
_LOOK_AT_CANCELLED: Final = 0.1
_MOST_QUESTIONS: Final = 256  # of one job that wait for their answers
_START: Final = untyped("")  # the kind of a job that is only the start of a worker
_OVER_MEMORY: Final = f"exit code {OVER_MEMORY}"
_KEPT_WORKERS: Final = 3  # of a driver, for jobs with different isolation

DEFAULT_COMMAND: Final = (sys.executable, "-P", "-m", "stepcore.sim.worker")


class Pool:
    """Up to ``size`` jobs at a time, in workers that are started when jobs need them. Thread-safe; a context manager.

    ``env`` is added to the workers' environment, from which variables that look like credentials are removed.
    ``isolation`` is what jobs may do that say nothing else: without it they write in their scratch folder only and have
    no network. A worker takes jobs of one isolation only, so there may be some more workers than ``size``, idle.
    """

    def __init__(
        self,
        command: Sequence[str] = DEFAULT_COMMAND,
        size: int = 2,
        limits: Limits | None = None,
        env: Mapping[str, str] | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        if size < 1:
            raise ValueError("a pool needs at least one worker")
        self.command = tuple(command)
        self.size = size
        self.limits = limits or Limits()
        self.env = dict(env or {})
        self.isolation = isolation or Isolation()
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._waiting: deque[Job[Any]] = deque()
        self._drivers: list[_Driver] = []
        self._closed = False
        _OPEN_POOLS.add(self)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def submit(
        self,
        kind: JobKind[Request, Progress, Result],
        request: Request,
        *,
        seconds: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_ask: OnAsk | None = None,
        isolation: Isolation | None = None,
    ) -> Job[Result]:
        """Queue a job of ``kind``.

        ``seconds`` replaces the pool's time limit, ``isolation`` the pool's. ``on_progress`` is called in a thread of
        the pool; ``on_ask`` answers questions of the job in a thread of its own, and the job's clock stands still until
        it returns.

        Raises:
            RuntimeError: the pool is closed.
        """
        limit = self.limits.seconds if seconds is None else seconds
        job = Job(next(self._numbers), kind, request, limit, isolation or self.isolation)
        job.parts = self.limits.parts
        job.on_progress = on_progress or job.on_progress
        job.on_ask = on_ask or job.on_ask
        with self._changed:
            if self._closed:
                raise RuntimeError("the pool is closed")
            self._waiting.append(job)
            if len(self._drivers) < self.size and len(self._waiting) > sum(driver.idle for driver in self._drivers):
                self._drivers.append(_Driver(self))
            self._changed.notify()
        return job

    def start_worker(self, isolation: Isolation | None = None) -> None:
        """Let a worker start for jobs with ``isolation`` before there is one; the first job hears of what fails."""
        self.submit(_START, None, isolation=isolation)

    def close(self) -> None:
        """Cancel what waits, kill what runs. May be called twice."""
        with self._changed:
            self._closed = True
            waiting, drivers = list(self._waiting), list(self._drivers)
            self._waiting.clear()
            self._changed.notify_all()
        for job in waiting:
            job.finish(error=JobCancelled())
        for driver in drivers:
            driver.stop()
        for driver in drivers:
            driver.thread.join(10.0)
        _OPEN_POOLS.discard(self)

    @property
    def worker_pids(self) -> list[int]:
        """Process ids of the workers that are alive."""
        return [worker.pid for driver in list(self._drivers) for worker in driver.workers]

    def take(self, driver: _Driver) -> Job[Any] | None:
        """Return the next job for ``driver``, or None when the pool is closed. Blocks."""
        with self._changed:
            driver.idle = True
            while not self._waiting and not self._closed:
                self._changed.wait()
            driver.idle = False
            return None if self._closed else self._waiting.popleft()


class _NeverBegun(JobError):
    """The worker was gone before it took the job up, so that the job is not to blame and may run elsewhere."""


class _Driver:
    """The thread that feeds jobs to one worker at a time; others, of other isolation, are idle meanwhile.

    A worker is started by this thread, which lives as long: Linux sends the parent-death signal when the
    *thread* that started a process ends.
    """

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.idle = False
        self.worker: WorkerProcess | None = None  # of the job that runs, or ran last
        self._idle_workers: list[WorkerProcess] = []  # the longest idle one first
        self._failures = 0
        self._stopping = threading.Event()
        self.thread = threading.Thread(target=self._drive, name="stepsmith-pool", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Let the thread kill its worker and end."""
        self._stopping.set()
        for worker in self.workers:
            worker.kill()

    @property
    def workers(self) -> list[WorkerProcess]:
        """All its workers."""
        current = self.worker
        return [*([current] if current is not None else []), *self._idle_workers]

    def _drive(self) -> None:
        try:
            while (job := self.pool.take(self)) is not None:
                if not job.future.cancelled():
                    self._perform(job)
        finally:
            self._drop_worker()
            for worker in self._idle_workers:
                worker.kill()

    def _perform(self, job: Job[Any]) -> None:
        try:
            try:
                job.finish(self._value(job))
            except _NeverBegun:  # the worker had died while it was idle: another one, once
                job.finish(self._value(job))
        except (JobError, JobCancelled) as error:
            job.finish(error=error)
        except Exception as error:
            log.exception("job %d", job.number)
            job.finish(error=JobError("STEP911", f"internal error: {error}"))
            self._drop_worker()
        finally:
            job.worker = None
            if self.worker is not None:
                self.worker.log_output()

    def _value(self, job: Job[Any]) -> Any:
        worker = self._worker_for(job)
        return None if job.kind == _START.name else self._run(job, worker)

    def _worker_for(self, job: Job[Any]) -> WorkerProcess:
        """Return the worker, which ``job`` knows from then on."""
        self._turn_to(job.isolation)
        worker = job.worker = self._ready_worker(job.isolation)
        if job.cancelled:  # while the worker started
            raise JobCancelled
        return worker

    def _turn_to(self, isolation: Isolation) -> None:
        """Let the worker be one for jobs with ``isolation``, if there is one, and keep the others."""
        current = self.worker
        if current is not None and current.isolation == isolation:
            return
        known = next((worker for worker in self._idle_workers if worker.isolation == isolation), None)
        kept = [worker for worker in self.workers if worker is not known and worker is not current]
        kept += [current] if current is not None else []
        self.worker, self._idle_workers = known, kept[-_KEPT_WORKERS + 1 :]
        for worker in kept[: -_KEPT_WORKERS + 1]:
            worker.kill()

    def _ready_worker(self, isolation: Isolation) -> WorkerProcess:
        """Return the worker, started if need be; waits longer after each failure in a row."""
        if self.worker is not None and not self.worker.is_alive:
            log.debug("worker %d ended between two jobs: %s", self.worker.pid, self.worker.ending())
            self._drop_worker()
        if self.worker is not None:
            return self.worker
        for attempt in range(1, _START_ATTEMPTS + 1):
            if self._failures and self._stopping.wait(min(0.1 * 2.0**self._failures, _MAX_BACKOFF)):
                raise JobCancelled
            try:
                self.worker = WorkerProcess(self.pool.command, self.pool.limits.memory, self.pool.env, isolation)
                if self._stopping.is_set():  # stop() may have looked before the worker was there
                    self.worker.kill()
                self.worker.wait_for_hello(self.pool.limits.start_seconds)
                break
            except OSError as error:
                self._failures += 1
                what = f"{one_line(self.pool.command[0])} cannot be started: {reason_of(error)}"
                if what_is_scarce(error):
                    raise not_started(what) from error
                raise JobError("STEP410", f"the worker {what}") from error
            except JobError as error:
                self._failures += 1
                self._drop_worker()
                if self._stopping.is_set():
                    raise JobCancelled from error
                if attempt == _START_ATTEMPTS or about(error.code).phase is Phase.SET_UP:
                    raise
        assert self.worker is not None
        return self.worker

    def _run(self, job: Job[Any], worker: WorkerProcess) -> Any:
        """Start ``job`` and wait for its end; kills the worker where that is needed."""
        worker.send({"type": "start", "job": job.key, "kind": job.kind, "payload": job.payload})
        effort = Effort(job.seconds, lambda: usage_of_tree(worker.root))
        answers: list[threading.Thread] = []
        grace = Effort(None, effort.usage)  # what a cancelled job may do until it is over
        has_begun = is_concluded = False
        while True:
            event = worker.receive(_LOOK if grace.seconds is None else _LOOK_AT_CANCELLED)
            if self._stopping.is_set() or grace.over():
                self._drop_worker()
                raise JobCancelled
            if event is ENDED:
                raise self._crash(worker, has_begun)
            if job.cancelled and grace.seconds is None:
                grace = Effort(_CANCEL_GRACE, effort.usage)
                worker.send({"type": "cancel", "job": job.key})
            if job.concluded and has_begun and not is_concluded:  # before, the worker would not know the job
                is_concluded = True
                worker.send({"type": "conclude", "job": job.key})
            if event is not None and event.get("job") == job.key:
                has_begun = True  # the first event is "begin"
                if event["type"] in ("result", "error"):
                    self._failures = 0
                    is_ours = event["type"] == "error" and about(event["code"]).phase is Phase.INTERNAL
                    if is_ours and job.isolation.profile == "user":
                        self._drop_worker()  # a user's functions may have broken it for the next job
                    return self._outcome(job, event)
                self._take(job, worker, event, effort, answers)
            if over := effort.over():  # after each event, too: a job that tells much must not live for ever
                self._drop_worker()
                raise JobError("STEP405", f"stopped {over}: the time limit of a job")

    def _take(
        self,
        job: Job[Any],
        worker: WorkerProcess,
        event: Mapping[str, Any],
        effort: Effort,
        answers: list[threading.Thread],
    ) -> None:
        """Take what a job tells or asks on its way."""
        match event["type"]:
            case "progress":
                if job.parts > 0 and isinstance(event["data"], Mapping) and event["data"].get("part"):
                    job.parts -= 1
                    effort.renew()
                self._believed(job.tell, event["data"])
            case "ask":
                answers[:] = [answer for answer in answers if answer.is_alive()]
                if len(answers) >= _MOST_QUESTIONS:
                    self._drop_worker()
                    raise JobError("STEP407", f"the worker asked over {_MOST_QUESTIONS} questions at once")
                effort.pause()
                answers.append(_Answer(job, worker, event["ask"], event["question"]).thread)
            case "answered":
                effort.resume()
            case "cancelled":
                if job.cancelled:
                    raise JobCancelled
                self._drop_worker()  # else the command would end without a word
                raise JobError("STEP407", "the worker was stopped: it gave up a job that nobody had cancelled")

    def _outcome(self, job: Job[Any], event: Mapping[str, Any]) -> Any:
        if event["type"] == "result":
            return self._believed(job.value, event["value"])
        error = self._believed(job.failure, event)
        if error.trace:
            trace = "\n".join(map(one_line, error.trace.split("\n")))
            log.debug("job %s failed:\n%s", job.key, trace)
        raise error

    def _believed(self, read: Callable[[Any], Any], data: Any) -> Any:
        """Read what a job says; a worker that says something else runs no further job."""
        try:
            return read(data)
        except JobError:
            self._drop_worker()
            raise

    def _crash(self, worker: WorkerProcess, has_begun: bool) -> JobError:
        self._failures += 1
        ending = "" if worker.problem else worker.ending()
        self._drop_worker()
        if worker.problem:
            return JobError("STEP407", f"the worker was stopped: it {worker.problem}")
        kind = JobError if has_begun else _NeverBegun
        if ending == _OVER_MEMORY:
            return kind("STEP406", "the memory limit was reached by all processes of the run together")
        hint = ": the system may have run out of memory" if ending == "SIGKILL" else ""
        return kind("STEP407", f"the worker process ended with {ending}{hint}", {"ending": ending})

    def _drop_worker(self) -> None:
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.kill()
            worker.log_output()


class _Answer:
    """Answers one question in its own thread, so that a slow answer stops neither a cancellation nor another."""

    def __init__(self, job: Job[Any], worker: WorkerProcess, ask: int, question: Any) -> None:
        self.job, self.worker, self.ask, self.question = job, worker, ask, question
        self.thread = threading.Thread(target=self._answer, name="stepsmith-answer", daemon=True)
        self.thread.start()

    def _answer(self) -> None:
        message: dict[str, Any] = {"type": "answer", "job": self.job.key, "ask": self.ask}
        try:
            message["value"] = self.job.on_ask(self.question)
        except Exception as error:  # noqa: BLE001 - the job decides what an answer that failed means
            message["error"] = str(error) or type(error).__name__
        self.worker.events.put({"type": "answered", "job": self.job.key})
        self.worker.send(message)


# Weak, so that a forgotten pool can be collected; what is left at exit is closed.
_OPEN_POOLS: Final[weakref.WeakSet[Pool]] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pool in list(_OPEN_POOLS):
        pool.close()
