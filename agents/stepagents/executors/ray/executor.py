"""Jobs on the machines of a Ray cluster (https://docs.ray.io), with the limits that they have on this one.

A *slot* is a Ray actor with one CPU; in it a pool of :mod:`stepcore.jobs` keeps one worker process. So a job runs
everywhere in a process of its own, with the same limits on time and memory, the same cancellation and an
environment without credentials. A slot that is lost with its node costs the job that it ran one more attempt.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final, Self

from stepagents.executors.executor import WORKER_MODULE
from stepagents.executors.ray.cluster import ClusterWatch, RayUnusable, cluster_cpus, connect, first_line
from stepagents.executors.ray.output import apart
from stepagents.executors.ray.slot import RaySlot
from stepcore.jobdata.kinds import JobKind, Progress, Request, Result
from stepcore.jobs import Job, JobCancelled, JobError, Limits
from stepcore.jobs.job import OnAsk
from stepcore.version import VERSION

__all__ = ["RayExecutor", "RayUnusable"]

log = logging.getLogger(__name__)

_ATTEMPTS: Final = 2  # a job whose node is lost runs once more
_EVENTS_SECONDS: Final = 1.0  # for which a slot holds back its answer when there is nothing to tell
_LOOK_SECONDS: Final = 0.2  # between two looks at whether a slot that starts is still wanted
_CALLS: Final = 4  # to one actor at the same time: events, cancel, answer


class RayExecutor:
    """An executor on a Ray cluster; see :class:`stepagents.executors.executor.Executor`. Thread-safe.

    Args:
        address: ``HOST:PORT`` of a cluster, or ``auto``; None starts a Ray here, which ends with the executor.
        size: jobs at the same time; one for each CPU of the cluster by default.
        limits: of each job, and of the start of its slot.
        module: the worker's module; Stepsmith must be installed on all nodes, in the version of this one.

    Raises:
        RayUnusable: see there.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        size: int | None = None,
        limits: Limits | None = None,
        module: str = WORKER_MODULE,
    ) -> None:
        self.limits = limits or Limits()
        self.module = module
        with ExitStack() as stack:  # ended at once where no cluster is reached
            stack.enter_context(apart())
            self._began_here = connect(address, size)
            self._output = stack.pop_all()
        self._numbers = itertools.count(1)
        self._changed = threading.Condition()
        self._waiting: deque[Job[Any]] = deque()
        self._attempts: dict[int, int] = {}
        self._closed = False
        self._failure: JobError | None = None
        self.size = size or cluster_cpus()
        self._drivers: list[_Driver] = []
        self._running: set[Job[Any]] = set()
        self.is_lost = False  # the whole cluster
        self._watch = ClusterWatch(self._lost_cluster)

    def __enter__(self) -> Self:
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
    ) -> Job[Result]:
        """Queue a job; see :meth:`stepcore.jobs.Pool.submit`. ``RuntimeError`` where the executor is closed."""
        job = Job(next(self._numbers), kind, request, self.limits.seconds if seconds is None else seconds)
        job.on_progress = on_progress or job.on_progress
        job.on_ask = on_ask or job.on_ask
        with self._changed:
            if self._closed:
                raise RuntimeError("the executor is closed")
            if self._failure is not None:
                job.finish(error=self._failure)
                return job
            self._waiting.append(job)
            if len(self._drivers) < self.size:
                self._drivers.append(_Driver(self, len(self._drivers)))
            self._changed.notify()
        return job

    def close(self) -> None:
        """Cancel what waits, kill what runs, and end the Ray that was started here. May be called twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            waiting, drivers = list(self._waiting), list(self._drivers)
            self._waiting.clear()
            self._changed.notify_all()
        self._watch.close()
        for job in waiting:
            job.finish(error=JobCancelled())
        if not self.is_lost:  # else Ray answers nothing, and ends the process of whoever shuts it down meanwhile
            for driver in drivers:
                driver.stop()
            for driver in drivers:
                driver.thread.join(10.0)
            if self._began_here:
                import ray

                ray.shutdown()
        self._output.close()

    def _lost_cluster(self, reason: str) -> None:
        """End all jobs: nobody can work on them any more."""
        error = JobError("STEP407", reason)
        with self._changed:
            if self._closed:
                return
            self.is_lost, self._failure = True, error
            jobs = [*self._waiting, *self._running]
            self._waiting.clear()
            self._changed.notify_all()
        for job in jobs:
            job.finish(error=error)

    @property
    def closed(self) -> bool:
        """Whether the executor takes no more jobs."""
        return self._closed or self.is_lost

    def take(self) -> Job[Any] | None:
        """Return the next job for a slot, or None when the executor is closed. Blocks."""
        with self._changed:
            while not self._waiting and not self.closed:
                self._changed.wait()
            if self.closed:
                return None
            job = self._waiting.popleft()
            self._running.add(job)
            return job

    def wanted(self, driver: _Driver) -> bool:
        """Wait for work before ``driver`` starts a slot; False when the executor is closed."""
        with self._changed:
            while not self._waiting and not self.closed:
                self._changed.wait()
            return not self.closed and driver in self._drivers

    def done(self, job: Job[Any]) -> None:
        """Forget a job on which no slot works any more."""
        with self._changed:
            self._running.discard(job)

    def begun(self, job: Job[Any]) -> None:
        """Count an attempt; a slot that was gone before the job began does not count."""
        self._attempts[job.number] = self._attempts.get(job.number, 0) + 1

    def lost(self, job: Job[Any]) -> None:
        """Queue a job again whose slot was lost, or give it up."""
        tried = self._attempts.get(job.number, 0)
        if job.cancelled:
            job.finish(error=JobCancelled())
        elif tried >= _ATTEMPTS:
            job.finish(error=JobError("STEP407", f"its node or worker was lost {tried} times"))
        else:
            log.debug("job %d is queued again: its node was lost", job.number)
            with self._changed:
                if self._closed:
                    job.finish(error=JobCancelled())
                    return
                self._waiting.appendleft(job)
                self._changed.notify()

    def gave_up(self, driver: _Driver, error: JobError) -> None:
        """Called by a driver without a slot; when it was the last one, nothing can run any more."""
        with self._changed:
            self._drivers.remove(driver)
            if self._drivers or self._closed:
                self._changed.notify()
                return
            self._failure = self._failure or error
            waiting = list(self._waiting)
            self._waiting.clear()
        for job in waiting:
            job.finish(error=error)


class _Driver:
    """The thread that owns one slot at a time and feeds it jobs."""

    def __init__(self, executor: RayExecutor, number: int) -> None:
        self._executor = executor
        self._actor: Any = None
        self.thread = threading.Thread(target=self._drive, name=f"stepsmith-ray-{number}", daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Kill the slot; what the thread waits for fails then."""
        self._drop()

    def _drive(self) -> None:
        import ray

        executor = self._executor
        while executor.wanted(self):
            try:
                self._start()
                while (job := executor.take()) is not None:
                    if not job.future.cancelled():
                        self._perform(job)
            except ray.exceptions.RayActorError as error:  # the slot was lost; start another one
                log.debug("a slot was lost: %s", error)
                self._drop()
            except JobError as error:
                self._drop()
                executor.gave_up(self, error)
                return
            except Exception as error:
                log.exception("a slot of the Ray cluster")
                self._drop()
                executor.gave_up(self, JobError("STEP407", f"the Ray cluster failed: {first_line(error)}"))
                return
        self._drop()

    def _start(self) -> None:
        """Start a slot and wait until it answers.

        Raises:
            JobError: no node has room for it, or the node's Stepsmith is another one.
        """
        import ray

        limits = self._executor.limits
        make: Any = ray.remote  # its types do not know `max_concurrency`
        remote = make(num_cpus=1, max_restarts=0, max_concurrency=_CALLS, scheduling_strategy="SPREAD")(RaySlot)
        self._actor = remote.remote(self._executor.module, limits.memory, limits.start_seconds)
        hello = self._actor.hello.remote()
        waited = 0.0
        while not ray.wait([hello], timeout=_LOOK_SECONDS)[0]:
            waited += _LOOK_SECONDS
            if self._executor.closed:
                raise JobError("STEP407", "the executor was closed")
            if waited > limits.start_seconds:
                raise JobError("STEP407", f"no node of the Ray cluster had a free CPU for {limits.start_seconds:g} s")
        version = ray.get(hello)
        if version != VERSION:
            text = (
                f"this is Stepsmith {VERSION}, but a node of the Ray cluster has version {version}: install one version"
            )
            raise JobError("STEP410", text)

    def _perform(self, job: Job[Any]) -> None:
        import ray

        try:
            job.finish(self._run(job))
        except (JobError, JobCancelled) as error:
            job.finish(error=error)
        except ray.exceptions.RayActorError:
            if self._executor.closed:
                job.finish(error=JobCancelled())
            else:
                self._executor.lost(job)
            raise
        except Exception as error:
            log.exception("job %d", job.number)
            job.finish(error=JobError("STEP407", f"the Ray cluster failed: {first_line(error)}"))
            raise
        finally:
            self._executor.done(job)

    def _run(self, job: Job[Any]) -> Any:
        """Run ``job`` in the slot, and pass on what it tells until it ends."""
        import ray

        actor = self._actor
        if actor is None:  # stopped meanwhile
            raise JobCancelled
        ray.get(actor.begin.remote(job.kind, job.payload, job.seconds))
        self._executor.begun(job)
        is_told = False
        while True:
            pending = actor.events.remote(_EVENTS_SECONDS)
            ready: list[Any] = []
            while not ready:
                if job.cancelled and not is_told:
                    is_told = True
                    actor.cancel.remote()
                if self._executor.is_lost:
                    raise JobCancelled  # it has its error
                ready, _ = ray.wait([pending], timeout=_LOOK_SECONDS)
            for kind, *values in ray.get(pending):
                match kind:
                    case "progress":
                        job.tell(values[0])
                    case "ask":
                        _answer(job, actor, *values)
                    case "result":
                        return job.value(values[0])
                    case "cancelled":
                        raise JobCancelled
                    case "error":
                        raise JobError(*values)

    def _drop(self) -> None:
        import ray

        actor, self._actor = self._actor, None
        if actor is not None and ray.is_initialized():
            ray.kill(actor)


def _answer(job: Job[Any], actor: Any, number: int, question: Any) -> None:
    """Answer a question in a thread of its own, so that a slow answer stops neither a cancellation nor another."""

    def answer() -> None:
        value, failure = None, ""
        try:
            value = job.on_ask(question)
        except Exception as error:  # noqa: BLE001 - the job decides what an answer that failed means
            failure = str(error) or type(error).__name__
        actor.answer.remote(number, value, failure)

    threading.Thread(target=answer, name="stepsmith-answer", daemon=True).start()
