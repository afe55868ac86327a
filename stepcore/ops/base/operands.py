"""What typing rules are given, and how they refuse: streams with their types, functions, the place of a mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol

from stepcore.findings.diagnostics import StepError
from stepcore.records import Record
from stepcore.types import Element, StreamType


class FnLike(Protocol):
    """What a typing rule needs to know of an element function."""

    @property
    def func_name(self) -> str:
        """Name under which programs use it."""
        ...

    @property
    def input(self) -> Element:
        """Type of one element that it takes."""
        ...

    @property
    def output(self) -> Element:
        """Type of one element that it returns, and of its state."""
        ...

    @property
    def has_state(self) -> bool:
        """True where it folds: ``apply(state, input)``."""
        ...

    @property
    def is_count(self) -> bool:
        """True of ``step.count`` alone, whose lists are as long as the data say."""
        ...


class Operand(NamedTuple):  # a tuple, because typing makes one for every input
    """One input of an application: its type, its name in the program for messages, and which stream it is there."""

    type: StreamType
    name: str = "the input"
    stream: int = -1


class RuleSubject(Record):
    """What a rule complains about: the operator, one parameter, or the input at ``index`` (flat)."""

    kind: Literal["operator", "param", "input"] = "operator"
    name: str = ""
    index: int = 0  # pragma: no mutate: read for inputs only, which give it

    @staticmethod
    def param(name: str) -> RuleSubject:
        """The parameter ``name``."""
        return RuleSubject("param", name)

    @staticmethod
    def input(index: int) -> RuleSubject:
        """The input at ``index`` of the flat sequence."""
        return RuleSubject("input", index=index)


class RuleError(StepError):
    """A typing rule is broken. ``code`` is one of the table in :mod:`stepcore.findings.codes`."""

    def __init__(self, code: str, message: str, subject: RuleSubject | None = None) -> None:
        super().__init__(code, message)
        self.subject = subject or RuleSubject()


RuleError.__module__ = "stepcore.ops.base"  # where scripts import it from, and tracebacks of theirs name it


class Made(Protocol):
    """What a typing context has to know of the program: by which operator each stream is made."""

    @property
    def nodes(self) -> Sequence[Any]:
        """The applications: ``op`` and ``inputs``."""
        ...

    @property
    def streams(self) -> Sequence[Any]:
        """The streams: ``name``, ``producer`` and ``type``."""
        ...


MOST_COUNTED: Final = 1024  # what a list of FlatMap is taken to hold at most where nobody knows
