"""The worker process of the agents: ``python -m stepagents.worker``, started by a pool of :mod:`stepcore.jobs`.

Kinds of jobs:

- the name of each proposer: one program for one task, see :func:`stepagents.jobs.propose.sample`
- ``propose``: several programs for one task, see :mod:`stepagents.jobs.propose`
- ``prior``: ``experiences`` -> the ``costs`` that they teach a search
- ``function``, see :mod:`stepagents.jobs.function`; ``sizes``, see :mod:`stepagents.jobs.sizes`
- ``judge``, see :mod:`stepagents.jobs.judge`

What those take and return that have types is in :mod:`stepcore.jobdata`.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from stepcore.jobdata.judging import JUDGE, JudgeRequest, JudgeResult
from stepcore.jobs import Context, Handler, handler, importing, serve_with
from stepcore.jobs.proposers import PROPOSERS

_MISSING: Final = "writing programs needs PyTorch, which this Python does not have: pip install torch numpy"


def prior(payload: Any, _context: Context) -> Any:
    """Return the costs of moves after seeing ``experiences``, see :func:`stepagents.prior.search_costs`."""
    from stepagents.prior import search_costs
    from stepagents.sampling import Experience
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    return search_costs([Experience(**item) for item in payload["experiences"]]).as_json()


def judge(request: JudgeRequest, context: Context) -> tuple[JudgeResult, ...]:
    """Judge one answer, see :func:`stepagents.jobs.judge.judge`."""
    from stepagents.jobs.judge import judge
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    return judge(request, context)


def propose(payload: Any, context: Context) -> Any:
    """Find several programs for an editor, see :func:`stepagents.jobs.propose.propose`."""
    from stepagents.jobs.propose import propose

    return propose(payload, context)


def sample(proposer: str, payload: Any, context: Context) -> Any:
    """Have a proposer write one program for a command, see :func:`stepagents.jobs.propose.sample`."""
    from stepagents.jobs.propose import sample

    return sample(proposer, payload, context)


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
    JUDGE.name: handler(JUDGE, judge),
    "prior": prior,
    "propose": propose,
    "sizes": sizes,
    **{entry.name: partial(sample, entry.name) for entry in PROPOSERS},
}


def main() -> None:
    """Serve until the owner goes away."""
    serve_with("torch", _MISSING, _HANDLERS, _prepare)


if __name__ == "__main__":
    main()
