"""The job ``judge`` of the agents' worker: one answer of any proposer in, a verdict out."""

from __future__ import annotations

from dataclasses import field
from typing import Final

from stepcore.jobdata.kinds import JobKind
from stepcore.records import Record


class JudgeRequest(Record):
    """A task and an ``answer`` to it; without one the task itself is tried: read, its data drawn, its reference run.

    ``guarded``: missing copies are inserted first. ``fresh``: what is right is judged again on other data. ``known``
    are stages of programs that were judged elsewhere, by canonical key.
    """

    path: str
    text: str
    answer: str | None = None
    guarded: bool = False
    dims: dict[str, int] = field(default_factory=dict)
    seed: int = 42
    fresh: bool = True
    known: dict[str, str] = field(default_factory=dict)


class JudgeResult(Record):
    """How far an answer came (``stepagents.judge.Stage``), see :class:`stepagents.judge.Judgement`.

    Where the judge itself was stopped, whoever asked it writes ``judge: ...`` for the stage.
    """

    stage: str
    message: str = ""
    code: str = ""
    impl: str = ""
    key: str = ""
    repeated: bool = False
    note: str = ""
    seconds: float = 0.0

    @property
    def accepted(self) -> bool:
        """Whether the program is right."""
        return self.stage == "accepted"


# One result, and none where only the task was tried.
JUDGE: Final = JobKind("judge", JudgeRequest, type(None), tuple[JudgeResult, ...])
