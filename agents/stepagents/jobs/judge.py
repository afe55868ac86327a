"""The job ``judge`` of the worker: one answer of any proposer in, a verdict out."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Final

from stepagents.given import given_task
from stepagents.judge import Judge, Judgement, Stage
from stepcore.findings.errors import SimError
from stepcore.jobdata.judging import JudgeRequest, JudgeResult
from stepcore.jobs import Context, JobError

_KEPT: Final = 8  # tasks whose data are kept: those of a bench are judged in turns


def judge(request: JudgeRequest, _context: Context) -> tuple[JudgeResult, ...]:
    """Return the verdict on an answer; nothing where only the task was tried.

    Raises:
        JobError: the task cannot be read (with its place in ``detail``), or cannot be run.
    """
    from stepagents.search.proposer import use_one_thread

    use_one_thread()
    try:
        found = _judge(
            request.path,
            request.text,
            json.dumps(request.dims, sort_keys=True),
            request.seed,
            request.guarded,
            request.fresh,
        )
        if request.answer is None:
            found.prepare()
            return ()
    except SimError as error:
        raise JobError(error.code, f"the task itself cannot be run: {error.message}") from error
    for key, stage in request.known.items():
        found.remember(Judgement(Stage(stage), key=key))
    judged = found.judge(request.answer)
    stage = judged.stage.value
    result = JudgeResult(
        stage, judged.message, judged.code, judged.impl, judged.key, judged.repeated, judged.note, judged.seconds
    )
    return (result,)


@lru_cache(maxsize=_KEPT)
def _judge(path: str, text: str, dims: str, seed: int, guarded: bool, fresh: bool) -> Judge:
    return Judge(given_task(path, text), json.loads(dims), seed, guarded=guarded, fresh=fresh)
