"""The job ``judge`` of the agents' worker: one answer of any proposer in, a verdict out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from stepcore.jobdata.kinds import JobKind


@dataclass(frozen=True, slots=True)
class JudgeRequest:
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


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """How far an answer came (``stepagents.judge.Stage``), see :class:`stepagents.judge.Judgement`."""

    stage: str
    message: str
    code: str
    impl: str
    key: str
    repeated: bool
    note: str
    seconds: float


# One result, and none where only the task was tried.
JUDGE: Final = JobKind("judge", JudgeRequest, type(None), tuple[JudgeResult, ...])
