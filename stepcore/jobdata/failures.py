"""What a job that failed says besides its code and its message."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from stepcore.jobdata.choices import SimulatorAction
from stepcore.records import Record


class Reads(Record):
    """The user's files that a run depends on, each with its mark (:mod:`stepcore.system.file_marks`) when it was read.

    ``kept`` are modules that stay imported, so that the process does not read them again.
    """

    files: dict[str, str]
    kept: tuple[str, ...]


class Finding(Record):
    """One reason at one place of the user's file; ``line`` and ``column`` count from 1, ``advice`` is what to do."""

    code: str
    message: str
    path: str
    line: int
    column: int
    advice: str
    operation: str

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


class FailureDetail(TypedDict, total=False):
    """Places count from 1, ``node`` is an operator's index in its graph, ``ending`` how a process ended.

    ``guess`` holds arguments that would help, ``action`` what an editor may offer.
    """

    path: str
    line: int | None
    column: int | None
    node: int | None
    findings: tuple[Finding, ...]
    guess: dict[str, str]
    reads: Reads
    ending: str
    action: SimulatorAction


class Failure(Record):
    """How a job failed: a code (:mod:`stepcore.findings.codes`), a message for people, a traceback for the log."""

    code: str
    message: str
    detail: FailureDetail
    trace: str
