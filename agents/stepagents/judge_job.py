"""The job ``judge`` of the worker: one answer of any proposer in, a verdict out.

Payload: ``path`` and ``text`` of the task, ``answer``, and as far as they differ from the defaults ``guarded``,
``dims``, ``seed``, ``fresh`` and ``known``, the stages of programs that were judged elsewhere, by canonical key.
Without ``answer`` the task itself is tried: whether it can be read, its data drawn and its reference computed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from stepagents.judge import Judge, Judgement, Stage
from stepcore.diagnostics import Severity
from stepcore.frontend.yaml import read_task
from stepcore.jobs import Context, JobError
from stepcore.task import TaskFile

_KEPT: Final = 8  # tasks whose data are kept: those of a bench are judged in turns


def judge(payload: Any, _context: Context) -> Any:
    """Return ``stage``, ``message``, ``code``, ``impl``, ``key``, ``repeated`` and ``seconds``.

    Raises:
        JobError: the task cannot be read (with its place in ``detail``), or cannot be run.
    """
    from stepcore.sim.errors import SimError

    try:
        found = _judge(
            payload["path"],
            payload["text"],
            json.dumps(payload.get("dims") or {}, sort_keys=True),
            payload.get("seed", 42),
            payload.get("guarded", False),
            payload.get("fresh", True),
        )
        if "answer" not in payload:
            found.prepare()
            return None
    except SimError as error:
        raise JobError(error.code, f"the task itself cannot be run: {error.message}") from error
    for key, stage in payload.get("known", {}).items():
        found.remember(Judgement(Stage(stage), key=key))
    judged = found.judge(payload["answer"])
    return {
        "stage": judged.stage.value,
        "message": judged.message,
        "code": judged.code,
        "impl": judged.impl,
        "key": judged.key,
        "repeated": judged.repeated,
        "seconds": judged.seconds,
    }


@lru_cache(maxsize=_KEPT)
def _judge(path: str, text: str, dims: str, seed: int, guarded: bool, fresh: bool) -> Judge:
    task = read_task(text, path)
    _need_task(task)
    return Judge(task, json.loads(dims), seed, guarded=guarded, fresh=fresh)


def _need_task(task: TaskFile) -> None:
    """Raise for a file that holds no task, or a broken one; what is wrong with its ``impl`` alone does not count."""
    errors = [item for item in task.diagnostics if item.severity is Severity.ERROR]
    if errors:
        place = task.source.line_col(errors[0].span.start)
        detail = {"path": task.source.path, "line": place[0] + 1, "column": place[1] + 1}
        raise JobError(errors[0].code, errors[0].message, detail)
    if task.spec is None:
        raise JobError("STEP910", "this file holds no task: inputs and outputs are missing")
