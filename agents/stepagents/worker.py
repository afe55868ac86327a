"""The worker process of the agents: ``python -m stepagents.worker``, started by a pool of :mod:`stepcore.jobs`.

Kinds of jobs:

- ``search``: ``path``, ``text`` of a task, [``seconds``, ``candidates``, ``seed``, ``costs``] -> see :func:`search`;
  progress tells candidates and streams so far
- ``prior``: ``experiences`` -> the ``costs`` that they teach a search
- ``function``, see :mod:`stepagents.jobs.function`; ``sizes``, see :mod:`stepagents.jobs.sizes`
- ``judge``, see :mod:`stepagents.jobs.judge`; ``propose``, see :mod:`stepagents.jobs.propose`; ``write``, see
  :mod:`stepagents.jobs.write`
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
    """Judge one answer, see :func:`stepagents.jobs.judge.judge`."""
    from stepagents.jobs.judge import judge
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    return judge(payload, context)


def write(payload: Any, context: Context) -> Any:
    """Let a model that the owner provides write a program, see :func:`stepagents.jobs.write.write`."""
    from stepagents.jobs.write import write

    return write(payload, context)


def propose(payload: Any, context: Context) -> Any:
    """Find several programs for an editor, see :func:`stepagents.jobs.propose.propose`."""
    from stepagents.jobs.propose import propose

    return propose(payload, context)


def function(payload: Any, context: Context) -> Any:
    """Turn a PyTorch function into programs, see :func:`stepagents.jobs.function.function`."""
    with importing("stepagents.jobs.function"):
        from stepagents.jobs.function import function

    return function(payload, context)


def sizes(payload: Any, context: Context) -> Any:
    """Propose and check sizes of a PyTorch function, see :func:`stepagents.jobs.sizes.sizes`."""
    with importing("stepagents.jobs.sizes"):
        from stepagents.jobs.sizes import sizes

    return sizes(payload, context)


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
