"""The worker process of the agents: ``python -m stepagents.worker``, started by a pool of :mod:`stepcore.jobs`.

Kinds of jobs:

- ``search``: ``path``, ``text`` of a task, [``seconds``, ``candidates``, ``seed``, ``costs``] -> see :func:`search`;
  progress tells candidates and streams so far
- ``prior``: ``experiences`` -> the ``costs`` that they teach a search
- ``function``, see :mod:`stepagents.torchfn.function_job`; ``sizes``, see :mod:`stepagents.shapes.sizes_job`
- ``judge``, see :mod:`stepagents.judge_job`; ``propose``, see :mod:`stepagents.propose_job`; ``write``, see
  :mod:`stepagents.llm.write_job`
"""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter
from typing import Any, Final

from stepcore.jobs import Context, Handler, importing, serve_with

_MISSING: Final = "writing programs needs PyTorch, which this Python does not have: pip install torch numpy"
_EVERY: Final = 0.2  # seconds between two reports


def search(payload: Any, context: Context) -> Any:
    """Search a program; returns ``solved``, ``impl``, ``reason``, ``candidates``, ``streams`` and ``seconds``."""
    from stepagents.given import given_task
    from stepagents.search.costs import CostModel
    from stepagents.search.options import Counters
    from stepagents.search.proposer import Options, synthesize, use_one_thread

    use_one_thread()
    task = given_task(payload["path"], payload["text"])
    told = perf_counter()

    def progress(counters: Counters) -> bool:
        nonlocal told
        if perf_counter() - told > _EVERY:
            told = perf_counter()
            context.progress(asdict(counters))
        return not context.cancelled

    options = Options(
        seconds=payload.get("seconds", 60.0),
        candidates=payload.get("candidates", 200_000),
        seed=payload.get("seed", 0),
        costs=CostModel.from_json(payload["costs"]) if payload.get("costs") else CostModel(),
        progress=progress,
    )
    outcome = synthesize(task, options)
    return {
        "solved": outcome.solved,
        "impl": outcome.impl,
        "reason": outcome.reason,
        "candidates": outcome.candidates,
        "streams": outcome.streams,
        "seconds": outcome.seconds,
        "note": outcome.note,
    }


def prior(payload: Any, _context: Context) -> Any:
    """Return the costs of moves after seeing ``experiences``, see :func:`stepagents.prior.search_costs`."""
    from stepagents.prior import search_costs
    from stepagents.sampling import Experience
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    return search_costs([Experience(**item) for item in payload["experiences"]]).as_json()


def judge(payload: Any, context: Context) -> Any:
    """Judge one answer, see :func:`stepagents.judge_job.judge`."""
    from stepagents import judge_job
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    return judge_job.judge(payload, context)


def write(payload: Any, context: Context) -> Any:
    """Let a model that the owner provides write a program, see :func:`stepagents.llm.write_job.write`."""
    from stepagents.llm import write_job

    return write_job.write(payload, context)


def propose(payload: Any, context: Context) -> Any:
    """Find several programs for an editor, see :func:`stepagents.propose_job.propose`."""
    from stepagents import propose_job

    return propose_job.propose(payload, context)


def function(payload: Any, context: Context) -> Any:
    """Turn a PyTorch function into programs, see :func:`stepagents.torchfn.function_job.function`."""
    with importing("stepagents.torchfn.function_job"):
        from stepagents.torchfn import function_job

    return function_job.function(payload, context)


def sizes(payload: Any, context: Context) -> Any:
    """Propose and check sizes of a PyTorch function, see :func:`stepagents.shapes.sizes_job.sizes`."""
    with importing("stepagents.shapes.sizes_job"):
        from stepagents.shapes import sizes_job

    return sizes_job.sizes(payload, context)


def _prepare() -> None:
    """Import what every job needs, so that it does not count as a job's time."""
    import stepagents.search.proposer  # noqa: F401


_HANDLERS: Final[dict[str, Handler]] = {
    "function": function,
    "judge": judge,
    "prior": prior,
    "propose": propose,
    "search": search,
    "sizes": sizes,
    "write": write,
}


def main() -> None:
    """Serve until the owner goes away."""
    serve_with("torch", _MISSING, _HANDLERS, _prepare)


if __name__ == "__main__":
    main()
