"""The worker process of the agents: ``python -m stepagents.worker``, started by a pool of :mod:`stepcore.jobs`.

Kinds of jobs: ``judge``, see :mod:`stepagents.judge_job`, and ``search``: ``path``, ``text`` of a task, [``seconds``,
``candidates``, ``seed``] -> one object, see :func:`search`. Progress tells candidates and streams so far.
"""

from __future__ import annotations

from dataclasses import asdict
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Final

from stepcore.jobs import Context, Handler, JobError, serve

_MISSING: Final = 'the search needs PyTorch, which this Python does not have: pip install "stepsmith[sim]"'
_EVERY: Final = 0.2  # seconds between two reports


def search(payload: Any, context: Context) -> Any:
    """Search a program; returns ``solved``, ``impl``, ``reason``, ``candidates``, ``streams`` and ``seconds``."""
    from stepagents.search.options import Counters
    from stepagents.search.proposer import Options, synthesize, use_one_thread
    from stepcore.diagnostics import Severity
    from stepcore.frontend.yaml import read_task

    use_one_thread()
    task = read_task(payload["text"], payload["path"])
    errors = [item for item in task.diagnostics if item.severity is Severity.ERROR]
    if task.spec is None or errors:
        text = errors[0].message if errors else "this file holds no task: inputs and outputs are missing"
        place = task.source.line_col(errors[0].span.start) if errors else (0, 0)
        detail = {"path": payload["path"], "line": place[0] + 1, "column": place[1] + 1}
        raise JobError(errors[0].code if errors else "STEP910", text, detail)
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
    }


def judge(payload: Any, context: Context) -> Any:
    """Judge one answer, see :func:`stepagents.judge_job.judge`."""
    from stepagents import judge_job
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    return judge_job.judge(payload, context)


def _prepare() -> None:
    """Import what every job needs, so that it does not count as a job's time."""
    import stepagents.search.proposer  # noqa: F401


def _without_torch(_payload: Any, _context: Context) -> Any:
    raise JobError("STEP410", _MISSING)


_HANDLERS: Final[dict[str, Handler]] = {"judge": judge, "search": search}


def main() -> None:
    """Serve until the owner goes away."""
    if find_spec("torch") is None:
        serve(dict.fromkeys(_HANDLERS, _without_torch))
    serve(_HANDLERS, _prepare)


if __name__ == "__main__":
    main()
