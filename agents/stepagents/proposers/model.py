"""The proposer ``model``: the whole sampler of :mod:`stepagents.llm`, with a model that the job's owner provides.

Wherever a worker has a model asked, this does it, see :mod:`stepagents.llm.asking`; a command that has the key itself
runs the same sampler in its own process. Of the order: ``samples``, ``seconds``, ``repair``, ``at_once``,
``answers_without_program``, ``model`` (a name for results) and ``price`` (two numbers, see
:func:`stepcore.settings.limits.read_price`). Progress tells ``text``, ``spent``, and of each answer its part of a
document about all of them (:mod:`stepagents.llm.transcript`). Answers are judged in a worker of this worker, so that
one which runs away costs its time limit and not the job.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from stepagents.executors.executor import worker_command
from stepagents.llm.asking import AskingTransport
from stepagents.llm.options import SamplingOptions
from stepagents.llm.providers import Price
from stepagents.llm.sampler import LlmSampler
from stepagents.llm.transcript import Answered, closing, opening, section
from stepagents.proposers.programs import Programs, Proposed
from stepagents.sampling import Order, Sampled
from stepagents.spending import spent_on, standing
from stepcore.graph.task import TaskFile, task_name
from stepcore.isolation import TEXT
from stepcore.jobdata.writing import AnswerParts, ProposeRequest, WritingProgress
from stepcore.jobs import Context, JobCancelled, JobError, Pool
from stepcore.jobs.proposers import MODEL
from stepcore.settings.config import read_answers
from stepcore.settings.limits import read_price
from stepcore.text.wording import one_line

T = TypeVar("T")
_POLL: Final = 0.1
_SAMPLES, _REPAIR, _AT_ONCE = 8, 1, 4  # where nobody says more


def propose(
    task: TaskFile, order: ProposeRequest, context: Context, programs: Programs, *, is_patient: bool = True
) -> Proposed:
    """Add what a model writes; see :class:`stepagents.proposers.Propose`.

    Raises:
        JobError: ``price`` or ``answers_without_program`` is none.
        JobCancelled: the job was cancelled before anything was found.
    """
    sampled = _asked(order, context)
    for impl in sampled.solutions:
        programs.add(impl)
    return Proposed(sampled.problem or sampled.reason, sampled.answers, sampled.note, _details(sampled))


def _details(sampled: Sampled) -> dict[str, Any]:
    """Return how the answers ended and what they took; ``cost`` is in US dollars, None where no price is known."""
    return {
        "outcomes": dict(sampled.outcomes),
        "input_tokens": sampled.input_tokens,
        "output_tokens": sampled.output_tokens,
        "cost": sampled.cost if sampled.cost_known else None,
        "spent": spent_on([sampled]),
    }


def _asked(request: ProposeRequest, context: Context) -> Sampled:
    """Return what came of all answers; each of them, and what they took, is told as progress."""
    order = Order(
        task_name(request.path),
        request.path,
        request.text,
        _SAMPLES if request.samples is None else request.samples,
        MODEL.seconds if request.seconds is None else request.seconds,
    )
    standard, most = SamplingOptions(), _read("answers_without_program", read_answers, request.answers_without_program)
    options = SamplingOptions(
        repair=_REPAIR if request.repair is None else request.repair,
        at_once=_AT_ONCE if request.at_once is None else request.at_once,
        answers_without_program=most or standard.answers_without_program,
    )

    def heard(answered: Answered) -> None:
        sampled = answered.sampled
        tell(sampled, AnswerParts(closing(sampled), opening(sampled), section(answered)))

    def tell(sampled: Sampled, answer: AnswerParts) -> None:
        context.progress(WritingProgress(standing([sampled]), spent=spent_on([sampled]), answer=answer))

    found = _read("price", read_price, request.price)
    name, price = request.model or "editor", Price(*found, as_of="as the user says") if found else None
    transport = AskingTransport(context.ask, name, at_once=options.at_once, price=price)
    context.progress(WritingProgress(f"asking {one_line(name)}"))
    with (
        Pool(worker_command(), size=1, isolation=TEXT) as pool,
        LlmSampler(transport, pool, options, heard=heard) as sampler,
    ):
        sampled = _sampled(sampler, order, context)
    if context.cancelled and not sampled.solved:
        raise JobCancelled
    tell(sampled, AnswerParts(closing(sampled)))
    return sampled


def _read(name: str, reader: Callable[[object], T], value: object) -> T | None:
    """Return the option ``name``, None where it is not given."""
    if value is None:
        return None
    try:
        return reader(value)
    except ValueError as error:
        raise JobError("STEP907", f"{name}: {error}") from error


def _sampled(sampler: LlmSampler, order: Order, context: Context) -> Sampled:
    stop, ended = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL):
            if context.cancelled:
                stop.set()

    watcher = threading.Thread(target=watch, name="stepsmith-watch", daemon=True)
    watcher.start()
    try:
        (sampled,) = sampler.sample([order], stop=stop)
    finally:
        ended.set()
        watcher.join()
    return sampled
