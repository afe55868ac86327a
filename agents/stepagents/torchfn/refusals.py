"""Why a function becomes no program: one message with its place and a way out. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from stepcore.jobs import JobError

NO_FUNCTION: Final = "STEP601"
NO_SIZES: Final = "STEP602"
NO_TRACE: Final = "STEP603"
NO_LOWERING: Final = "STEP604"
NO_TYPE: Final = "STEP605"


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason at one place of the user's file; ``line`` and ``column`` count from 1, ``advice`` is what to do."""

    code: str
    message: str
    path: str
    line: int = 1
    column: int = 1
    advice: str = ""
    operation: str = ""

    @property
    def text(self) -> str:
        """Message and advice as one sentence pair."""
        return f"{self.message}; {self.advice}" if self.advice else self.message

    def at_code(self, text: str) -> Finding:
        """Return the finding at the first character of code of its line; one with a column of its own stays there."""
        lines = text.splitlines()
        if self.column > 1 or not 0 < self.line <= len(lines):
            return self
        line = lines[self.line - 1]
        return replace(self, column=len(line) - len(line.lstrip()) + 1)

    def as_json(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        return asdict(self)


@dataclass(eq=False)
class Refused(Exception):
    """The function cannot be taken. ``guess`` holds arguments that would help, for a question of the editor."""

    findings: Sequence[Finding]
    guess: dict[str, str] = field(default_factory=dict)
    is_final: bool = False  # other sizes would not help

    def __str__(self) -> str:
        return "\n".join(item.text for item in self.findings)

    def as_job_error(self, text: str = "") -> JobError:
        """Return the refusal as the error of a job; its detail holds all findings, where ``text`` has code."""
        findings = [finding.at_code(text) for finding in self.findings]
        first = findings[0]
        detail = {
            "path": first.path, "line": first.line, "column": first.column,
            "findings": [item.as_json() for item in findings], "guess": dict(self.guess),
        }  # fmt: skip
        return JobError(first.code, first.text, detail)


def refuse(code: str, message: str, path: str, line: int = 1, column: int = 1, *, advice: str = "") -> Refused:
    """Return a refusal with one finding."""
    return Refused([Finding(code, message, path, line, column, advice)])
