"""The job ``write`` of the worker: the whole sampler, with a model that the job's owner provides.

Payload: ``path`` and ``text`` of the task, and as far as they differ from the defaults ``samples``, ``seconds``,
``repair``, ``early_stop``, ``at_once`` and ``model`` (a name for results). Progress tells ``text``. Answers are judged
in a worker of this worker, so that one which runs away costs its time limit and not the job.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from stepagents.llm.asking import AskingTransport
from stepagents.llm.options import SamplingOptions
from stepagents.llm.sampler import LlmSampler
from stepagents.sampling import Order, Sampled
from stepcore.isolation import TEXT
from stepcore.jobs import Context, JobCancelled, Pool
from stepcore.task import task_name

_POLL: Final = 0.1


def write(payload: Any, context: Context) -> Any:
    """Return ``solved``, ``solutions`` (shortest first), ``problem``, ``reason``, and the counters of ``Sampled``.

    A job that is cancelled returns nothing, unless something was found.
    """
    from stepagents.executor import worker_command

    order = Order(
        task_name(payload["path"]),
        payload["path"],
        payload["text"],
        payload.get("samples", 8),
        payload.get("seconds", 120.0),
    )
    options = SamplingOptions(
        repair=payload.get("repair", 1),
        early_stop=payload.get("early_stop", True),
        at_once=payload.get("at_once", 4),
    )
    transport = AskingTransport(context.ask, payload.get("model", "editor"), at_once=options.at_once)
    with Pool(worker_command(), size=1, isolation=TEXT) as pool, LlmSampler(transport, pool, options) as sampler:
        sampled = _sampled(sampler, order, context)
    if context.cancelled and not sampled.solved:
        raise JobCancelled
    return {
        "solved": sampled.solved,
        "solutions": sampled.solutions,
        "answers": sampled.answers,
        "accepted": sampled.accepted,
        "outcomes": dict(sampled.outcomes),
        "input_tokens": sampled.input_tokens,
        "output_tokens": sampled.output_tokens,
        "seconds": sampled.seconds,
        "reason": sampled.reason,
        "problem": sampled.problem,
    }


def _sampled(sampler: LlmSampler, order: Order, context: Context) -> Sampled:
    stop, ended = threading.Event(), threading.Event()

    def watch() -> None:
        while not ended.wait(_POLL):
            if context.cancelled:
                stop.set()

    watcher = threading.Thread(target=watch, name="stepsmith-watch", daemon=True)
    watcher.start()
    try:
        (sampled,) = sampler.sample([order], stop=stop, tell=lambda text: context.progress({"text": text}))
    finally:
        ended.set()
        watcher.join()
    return sampled
