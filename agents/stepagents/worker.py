"""The worker process of the agents: ``python -m stepagents.worker``, started by a pool of :mod:`stepcore.jobs`.

Kinds of jobs, with what they take and return in :mod:`stepcore.jobdata`:

- the name of each proposer: one program for one task, see :func:`stepagents.jobs.propose.sample`
- ``propose``: several programs for one task
- ``prior``: experience -> the costs that it teaches a search
- ``function`` and ``sizes``: PyTorch functions
- ``optimize``: a program -> its verified front of faster ones
- ``judge``: one answer in, a verdict out

Each of them is a module of :mod:`stepagents.jobs`, imported with its first job.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, Final

from stepcore.jobdata.judging import JUDGE
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.optimizing import OPTIMIZE
from stepcore.jobdata.writing import FUNCTION, PROPOSE, SIZES, ProposeRequest, SampleResult, prior_kind, sample_kind
from stepcore.jobs import Context, Handler, importing, serve_with
from stepcore.jobs.proposers import PROPOSERS

_MISSING: Final = "writing programs needs PyTorch, which this Python does not have: pip install torch numpy"


def sample(proposer: str, request: ProposeRequest, context: Context) -> SampleResult:
    """Have a proposer write one program for a command, see :func:`stepagents.jobs.propose.sample`."""
    from stepagents.jobs.propose import sample

    return sample(proposer, request, context)


def _job(kind: JobKind[Any, Any, Any]) -> Handler:
    """Return the handler of a kind: a module of :mod:`stepagents.jobs`, and the function in it, have its name."""
    module = f"stepagents.jobs.{kind.name}"

    def run(request: Any, context: Context) -> Any:
        with importing(module):
            found = import_module(module)
        return getattr(found, kind.name)(request, context)

    return Handler(kind, run)


def _prepare() -> None:
    """Import what every job needs, so that it does not count as a job's time."""
    import stepagents.search.proposer  # noqa: F401


_KINDS: Final[tuple[JobKind[Any, Any, Any], ...]] = (FUNCTION, JUDGE, OPTIMIZE, PROPOSE, SIZES, prior_kind("prior"))
_HANDLERS: Final = (
    *(_job(kind) for kind in _KINDS),
    *(Handler(sample_kind(entry.name), partial(sample, entry.name)) for entry in PROPOSERS),
)


def main() -> None:
    """Serve until the owner goes away."""
    serve_with("torch", _MISSING, _HANDLERS, _prepare)


if __name__ == "__main__":
    main()
