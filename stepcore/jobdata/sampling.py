"""The jobs with which commands have one program written: one kind for each proposer, and what prepares a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.writing import WritingProgress


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """A task, and what a proposer may spend on it: ``samples`` are candidates of a search, or answers of a model.

    ``experiences`` (``stepagents.sampling.Experience``) teach it, or ``costs`` that a job of its own made of them.
    """

    path: str
    text: str
    seconds: float
    samples: int
    seed: int
    experiences: tuple[Any, ...] = ()
    costs: Any = None


@dataclass(frozen=True, slots=True)
class SampleResult:
    """What came of one order; ``details`` are further facts for whoever knows this proposer."""

    solved: bool
    impl: str
    reason: str
    candidates: int
    note: str
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PriorRequest:
    """What a search is to learn from."""

    experiences: tuple[Any, ...]


SampleKind: TypeAlias = JobKind[SampleRequest, WritingProgress, SampleResult]


def sample_kind(proposer: str) -> SampleKind:
    """Return the kind of job that has a proposer write one program."""
    return JobKind(proposer, SampleRequest, WritingProgress, SampleResult)


def prior_kind(name: str) -> JobKind[PriorRequest, None, dict[str, Any]]:
    """Return the kind of job that makes costs of moves of experience; only the search reads them."""
    return JobKind(name, PriorRequest, type(None), dict[str, Any])
