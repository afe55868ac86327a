"""Why a function becomes no program: one message with its place and a way out. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from stepcore.jobdata.failures import FailureDetail, Finding
from stepcore.jobs import JobError

NO_FUNCTION: Final = "STEP601"
NO_SIZES: Final = "STEP602"
NO_TRACE: Final = "STEP603"
NO_LOWERING: Final = "STEP604"
NO_TYPE: Final = "STEP605"


@dataclass(eq=False)
class Refused(Exception):
    """The function cannot be taken. ``guess`` holds arguments that would help, for a question of the editor."""

    findings: Sequence[Finding]
    guess: dict[str, str] = field(default_factory=dict)
    is_final: bool = False  # other sizes would not help

    def __str__(self) -> str:
        return "\n".join(item.text for item in self.findings)

    def beside(self, note: str) -> Refused:
        """Return the refusal with a further remark in its first finding, itself where there is none."""
        first, *others = self.findings
        found = [replace(first, message=f"{first.message} ({note})"), *others] if note else self.findings
        return Refused(found, self.guess, self.is_final)

    def as_job_error(self, text: str = "") -> JobError:
        """Return the refusal as the error of a job; its detail holds all findings, where ``text`` has code."""
        findings = [finding.at_code(text) for finding in self.findings]
        first = findings[0]
        detail: FailureDetail = {
            "path": first.path, "line": first.line, "column": first.column,
            "findings": tuple(findings), "guess": dict(self.guess),
        }  # fmt: skip
        return JobError(first.code, first.text, detail)


def refuse(code: str, message: str, path: str, line: int = 1, column: int = 1, *, advice: str = "") -> Refused:
    """Return a refusal with one finding."""
    return Refused([Finding(code, message, path, line, column, advice, "")])
