"""The job ``optimize`` of the agents' worker: a program of a file in, its verified front out.

The search times candidates in workers that run nobody's code, and verifies the front in others, as the user's file
asks; this process runs none of it. What it works out is kept on disk, so that the same order goes on from there; what
helped is remembered, and a model is asked through the owner of the job, as ``stepsmith optimize`` does both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepagents.executors.executor import available_cpus, worker_command
from stepagents.executors.opening import ExecutorChoice, open_executor
from stepagents.experience.database import StoreError
from stepagents.experience.store import Store
from stepagents.jobs.advice import ToldAdvice, open_advice
from stepagents.optimize.candidates import FasterText, Goal, OptimizeTarget
from stepagents.optimize.outcome import Optimized, brought
from stepagents.optimize.proof import Judges
from stepagents.optimize.record import SearchRecord, record_path, search_order
from stepagents.optimize.remembering import OptimizationMemory
from stepagents.optimize.run import Watch, optimized
from stepagents.optimize.worker import OPTIMIZE_WORKER
from stepcore.chips.reader import read_hardware
from stepcore.cycles.bounds import COMPUTE
from stepcore.frontend.syntax import marked_as
from stepcore.jobdata.optimizing import FasterPoint, FasterResult, FasterStep, OptimizeProgress, OptimizeRequest
from stepcore.jobs import Context, JobCancelled, Limits, Pool
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.settings.limits import InForce
from stepcore.timer.told import chip_told

_JUDGE: Final = "stepcore.sim.worker"
_ERRORS: Final = "it has errors: they have to be mended first"


def optimize(request: OptimizeRequest, context: Context) -> FasterResult:
    """Return what came of an order; one that is concluded ends with what it has by then, verified.

    Raises:
        JobError: the chip's description, or the price of a model, cannot be used.
        JobCancelled: nobody wants the result any more.
    """
    subject = subject_of(request.text, request.path, request.program, request.affine)
    if subject is None:
        return FasterResult(request.chip_name, problem=_ERRORS)
    with chip_told():
        chip = read_hardware(request.chip, request.chip_name)
    target = OptimizeTarget(chip, request.compute or COMPUTE, request.capacity, Goal(request.goal))
    with open_advice(request, context) as told, _memory(request, told.remarks) as memory:
        return _Ordered(request, context, subject, target).run(memory, told)


class _Ordered:
    def __init__(
        self, request: OptimizeRequest, context: Context, subject: RewriteSubject, target: OptimizeTarget
    ) -> None:
        self._request, self._context = request, context
        self._subject, self._target = subject, target

    def run(self, memory: OptimizationMemory, told: ToldAdvice) -> FasterResult:
        """Search, verify, remember."""
        request, context, workers = self._request, self._context, available_cpus()
        limits = InForce(request.run_seconds, request.run_memory, request.network)
        order = search_order(self._subject, self._target, remembers=memory.is_open)
        with (
            SearchRecord(record_path(order, Path(request.records))) as record,
            Pool(worker_command(_JUDGE), workers, Limits(memory=limits.memory << 20)) as pool,
            Judges(self._subject, self._target.chip, limits, pool, self._is_over) as judges,
            open_executor(ExecutorChoice(workers=workers, module=OPTIMIZE_WORKER)) as timers,
        ):
            if record.known:
                _tell(context, f"{record.known:,} candidates are known from before")
            watch = Watch(
                lambda text: _tell(context, text),
                self._is_over,
                request.seconds,
                lambda found: context.progress(_news(found)),
            )
            items = record.memory(memory.items())
            outcome = optimized(
                self._subject, self._target, record, judges, watch, items, executor=timers, advice=told.advice
            )
            if context.cancelled:
                raise JobCancelled
            learned = memory.keep(record.learn(outcome.learned))
            remarks = [*told.remarks, *filter(None, [record.problem])]
        found = _result(outcome, remarks, request.text)
        return replace(
            found, proposals=tuple(outcome.proposals), spent=told.spent, unasked=told.unasked, remembered=len(items),
            learned=learned,
        )  # fmt: skip

    def _is_over(self) -> bool:
        return self._context.concluded or self._context.cancelled


@contextmanager
def _memory(request: OptimizeRequest, remarks: list[str]) -> Iterator[OptimizationMemory]:
    """Open the memory of the order's workspace; ``remarks`` say why it goes on without."""
    if not request.store:
        yield OptimizationMemory()
        return
    try:
        store = Store(Path(request.store), request.workspace)
    except StoreError as error:
        remarks.append(f"{error}; going on without memory")
        yield OptimizationMemory()
        return
    with store:
        yield OptimizationMemory(store, remarks.append)


def _tell(context: Context, text: str) -> None:
    context.progress(OptimizeProgress(text))


def _news(found: FasterText) -> OptimizeProgress:
    figures = found.figures
    last = found.steps[-1].sentence if found.steps else "as it is"
    return OptimizeProgress(last, figures.cycles, _ratio(figures.cycles, figures.bound))


def _ratio(cycles: int, bound: int | None) -> float | None:
    return cycles / bound if bound else None


def _result(outcome: Optimized, remarks: list[str], before: str) -> FasterResult:
    return FasterResult(
        outcome.hw,
        tuple(_point(each, outcome, before) for each in outcome.front),
        outcome.old,
        outcome.bound,
        outcome.bound_by,
        outcome.tried,
        outcome.ended,
        (*outcome.refused, *remarks),
        outcome.problem,
    )


def _point(found: FasterText, outcome: Optimized, before: str) -> FasterPoint:
    figures = found.figures
    steps = tuple(FasterStep(step.sentence, brought(step), step.after.cycles) for step in found.steps)
    ratio = _ratio(figures.cycles, outcome.bound)
    text = marked_as(before, found.text)
    return FasterPoint(text, figures.cycles, figures.on_chip, figures.off_chip, ratio, found is outcome.best, steps)
