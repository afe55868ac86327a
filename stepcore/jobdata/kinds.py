"""A kind of job: its name in messages, and the records that it takes, tells and returns."""

from __future__ import annotations

from typing import Any, Generic, TypeVar, cast

from stepcore.records import Record

Request = TypeVar("Request")
Progress = TypeVar("Progress")
Result = TypeVar("Result")


class JobKind(Record, Generic[Request, Progress, Result]):
    """The types of one kind of job, for type checkers and for :mod:`stepcore.jobdata.plain` alike."""

    name: str
    request: type[Request]
    progress: type[Progress]
    result: type[Result]


def untyped(name: str) -> JobKind[Any, Any, Any]:
    """Return a kind whose jobs take, tell and return plain JSON of any form."""
    anything = cast("type[Any]", Any)
    return JobKind(name, anything, anything, anything)
