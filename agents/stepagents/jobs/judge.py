"""The job ``judge`` of the worker: one answer of any proposer in, a verdict out.

Payload: ``path`` and ``text`` of the task, ``answer``, and as far as they differ from the defaults ``guarded``,
``dims``, ``seed``, ``fresh`` and ``known``, the stages of programs that were judged elsewhere, by canonical key.
Without ``answer`` the task itself is tried: whether it can be read, its data drawn and its reference computed.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from stepagents.given import given_task
from stepagents.judge import Judge, Judgement, Stage
from stepcore.jobs import Context, JobError

_KEPT: Final = 8  # tasks whose data are kept: those of a bench are judged in turns


def judge(payload: Any, _context: Context) -> Any:
    """Return ``stage``, ``message``, ``code``, ``impl``, ``key``, ``repeated``, ``note`` and ``seconds``.

    Raises:
        JobError: the task cannot be read (with its place in ``detail``), or cannot be run.
    """
    from stepcore.findings.errors import SimError

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
        "note": judged.note,
        "seconds": judged.seconds,
    }


@lru_cache(maxsize=_KEPT)
def _judge(path: str, text: str, dims: str, seed: int, guarded: bool, fresh: bool) -> Judge:
    return Judge(given_task(path, text), json.loads(dims), seed, guarded=guarded, fresh=fresh)
