"""One call of the sampler: its tasks, and how each ends. For one event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from stepagents.llm.answering import Answering
from stepagents.llm.judging import TaskJudge, TaskProblem
from stepagents.llm.ledger import LedgerError
from stepagents.llm.options import SamplingOptions
from stepagents.llm.transcript import Heard
from stepagents.llm.tries import Tries
from stepagents.sampling import Order, Sampled
from stepagents.spending import standing
from stepcore.frontend.yaml.tasks import read_task
from stepcore.jobdata.writing import Experience

if TYPE_CHECKING:
    from stepagents.executors.executor import Executor


_GRACE: Final = 10.0  # seconds that whoever stops waits for answers that are being judged: they are paid for
_STOPPED: Final = "stopped before a right program was found"


class SamplingRun:
    """Works on all tasks of one call; each gives its result to ``done`` exactly once, whatever happens."""

    def __init__(
        self,
        answering: Answering,
        options: SamplingOptions,
        executor: Executor,
        threads: ThreadPoolExecutor,
        done: Callable[[Sampled], None],
        tell: Callable[[str], None],
        heard: Heard,
    ) -> None:
        self._answering = answering
        self._options = options
        self._executor = executor
        self._threads = threads
        self._done = done
        self._tell = tell
        self._heard = heard
        self._begun: list[Sampled] = []
        self._slots = asyncio.Semaphore(options.at_once)
        self._stopping = asyncio.Event()

    async def stop(self) -> None:
        """End all tasks soon; what they earned is kept."""
        self._stopping.set()

    async def all(self, orders: Sequence[Order], demonstrations: Sequence[Experience]) -> None:
        """Work on all ``orders``."""
        async with asyncio.TaskGroup() as group:
            for order in orders:
                group.create_task(self._order(order, demonstrations))

    async def _order(self, order: Order, demonstrations: Sequence[Experience]) -> None:
        sampled = Sampled(order.task, order.path, self._answering.transport.name)
        try:
            await self._try(order, demonstrations, sampled)
        except (TaskProblem, LedgerError) as error:  # without a ledger answers could be paid for twice
            sampled.problem = str(error)
        self._done(sampled)

    async def _try(self, order: Order, demonstrations: Sequence[Experience], sampled: Sampled) -> None:
        judge = TaskJudge(self._executor, self._threads, order.path, order.text, self._options.judge_seconds)
        if not await self._unless_stopped(judge.prepare()):
            sampled.reason = _STOPPED
            return
        task = read_task(order.text, order.path)
        self._begun.append(sampled)
        tries = Tries(
            self._answering, self._options, judge, task, demonstrations, sampled, self._tell_standing, self._heard,
            order.seed,
        )  # fmt: skip
        first = order.seed * order.samples  # another seed asks for other answers than the ledger has of this one
        numbers = range(first, first + order.samples)
        samples = [asyncio.create_task(self._sample(tries, number, order)) for number in numbers]
        try:
            await self._wait(tries, samples)
            await self._count_paid(tries, samples)
        finally:
            for sample in samples:
                sample.cancel()
            ended = await asyncio.gather(*samples, return_exceptions=True)
            if tries.began is not None:
                sampled.seconds = perf_counter() - tries.began
        for error in ended:
            if isinstance(error, Exception):
                raise error
        if not sampled.solved and not sampled.problem:
            sampled.reason = _STOPPED if self._stopping.is_set() else tries.reason()

    def _tell_standing(self) -> None:
        """Tell how far all tasks of the call are."""
        self._tell(standing(self._begun))

    async def _sample(self, tries: Tries, number: int, order: Order) -> None:
        await tries.restraint.enter()  # before a slot is taken, which other tasks can use meanwhile
        async with self._slots:
            if tries.began is None:
                tries.begin(order.seconds)
            await tries.sample(number)

    async def _wait(self, tries: Tries, samples: list[asyncio.Task[None]]) -> None:
        """Wait until all samples are there, or no more are wanted."""
        if not samples:
            return
        reasons: list[asyncio.Future[Any]] = [
            asyncio.create_task(event.wait()) for event in (tries.over, self._stopping)
        ]
        everything = asyncio.gather(*samples)
        everything.add_done_callback(lambda future: future.cancelled() or future.exception())  # seen by the caller
        try:
            await asyncio.wait([everything, *reasons], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for reason in reasons:
                reason.cancel()

    async def _count_paid(self, tries: Tries, samples: list[asyncio.Task[None]]) -> None:
        """Let answers that are being judged count, when a stop or the task's time ends the rest."""
        if tries.solved_early:
            return
        tries.over.set()
        for sample in samples:
            if sample not in tries.judging:
                sample.cancel()
        if tries.judging:
            await asyncio.wait(set(tries.judging), timeout=_GRACE)

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Wait for ``work``; False where a stop came first."""
        doing = asyncio.create_task(work)
        stop = asyncio.create_task(self._stopping.wait())
        both: list[asyncio.Future[Any]] = [doing, stop]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                return False
            doing.result()
            return True
        finally:
            for task in both:
                task.cancel()
