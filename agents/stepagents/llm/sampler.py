"""The language-model proposer: many answers to each task, in parallel, each judged, some repaired."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event
from typing import TYPE_CHECKING, Final, Self

from stepagents.llm.answering import Answering
from stepagents.llm.background import LoopThread
from stepagents.llm.ledger import Ledger
from stepagents.llm.options import SamplingOptions
from stepagents.llm.run import SamplingRun
from stepagents.llm.transcript import Answered, Heard
from stepagents.llm.transport import Transport
from stepagents.sampling import Order, Sampled
from stepcore.jobdata.writing import Experience

if TYPE_CHECKING:
    from stepagents.executors.executor import Executor

_POLL: Final = 0.1  # seconds until a stop is noticed


class LlmSampler:
    """A language model as a :class:`stepagents.sampling.Sampler`. A context manager; not for several threads at once.

    Args:
        transport: the model.
        executor: runs jobs of the kind ``judge``; it is not closed here.
        options: sampling, repair and guardian.
        ledger: where paid answers are kept; None keeps none.
        run: the run in the ledger that the answers belong to, see :meth:`Ledger.open_run`.
        heard: gets every answer with its verdict, in a thread of the sampler's; it must not raise.
    """

    def __init__(
        self,
        transport: Transport,
        executor: Executor,
        options: SamplingOptions | None = None,
        *,
        ledger: Ledger | None = None,
        run: str = "",
        heard: Heard | None = None,
    ) -> None:
        self._executor = executor
        self._options = options or SamplingOptions()
        self._answering = Answering(transport, ledger, run)
        self._heard = heard or _ignored
        self._loop: LoopThread | None = None
        self._threads: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Provider and model."""
        return self._answering.transport.name

    def sample(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience] = (),
        *,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[Sampled]:
        """See :meth:`stepagents.sampling.Sampler.sample`. Tasks are begun in their order, each with all its samples.

        ``Order.seconds`` counts from a task's first request. Leaving the iterator early gives up what is not there yet;
        what was paid for stays in the ledger.
        """
        results: queue.SimpleQueue[Sampled] = queue.SimpleQueue()
        loop, threads = self._started()
        work = SamplingRun(self._answering, self._options, self._executor, threads, results.put, tell, self._heard)
        future = loop.start(work.all(orders, demonstrations))
        try:
            for _ in orders:
                yield self._next(results, future, work, loop, stop)
        finally:
            future.cancel()

    def _next(
        self,
        results: queue.SimpleQueue[Sampled],
        future: Future[None],
        work: SamplingRun,
        loop: LoopThread,
        stop: Event | None,
    ) -> Sampled:
        """Wait for the next result; passes a stop on, after which all results come soon."""
        while True:
            try:
                return results.get(timeout=_POLL)
            except queue.Empty:
                if stop is not None and stop.is_set():
                    loop.start(work.stop())
                if future.done():
                    future.result()  # raises what ended it, a defect of ours
                    return results.get(timeout=_POLL)

    def close(self) -> None:
        """End what runs and close connections. May be called twice."""
        loop, self._loop = self._loop, None
        threads, self._threads = self._threads, None
        if loop is not None:
            loop.close_after(self._answering.transport.close)
        if threads is not None:
            threads.shutdown(wait=False, cancel_futures=True)

    def _started(self) -> tuple[LoopThread, ThreadPoolExecutor]:
        if self._loop is None:
            self._loop = LoopThread("stepsmith-model")
        if self._threads is None:
            self._threads = ThreadPoolExecutor(max(self._executor.size, 1), "stepsmith-judge")
        return self._loop, self._threads


def _ignored(_answered: Answered) -> None:
    """Nobody listens."""
