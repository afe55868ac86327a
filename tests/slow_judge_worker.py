"""A worker whose judge hangs or crashes when an answer tells it to, and that counts what it judges."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from stepagents.jobs.judge import judge as judged
from stepagents.judge import Judge
from stepcore.jobdata.judging import JUDGE, JudgeRequest, JudgeResult
from stepcore.jobs import Context, Handler, serve

VERDICT = Judge._verdict


def counted(self: Judge, *arguments: Any) -> Any:
    if "STEPSMITH_TEST_COUNT" in os.environ:
        with Path(os.environ["STEPSMITH_TEST_COUNT"]).open("a") as file:
            file.write("x")
    return VERDICT(self, *arguments)


def judge(request: JudgeRequest, context: Context) -> tuple[JudgeResult, ...]:
    answer = request.answer or ""
    if "sleep" in answer:
        time.sleep(60)
    if "crash" in answer:
        os.kill(os.getpid(), signal.SIGSEGV)
    return judged(request, context)


def prepare() -> None:
    """What is imported here is not part of a job's time."""
    import stepagents.search.proposer  # noqa: F401


HANDLERS = [Handler(JUDGE, judge)]

if __name__ == "__main__":
    vars_of_judge: Any = Judge
    vars_of_judge._verdict = counted
    serve(HANDLERS, prepare)
