"""Findings: what is wrong, where, why, and the edit that mends it.

A :class:`Diagnostic` is plain data. The one table of codes is :mod:`stepcore.codes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from stepcore.span import Span


class Severity(Enum):
    """How grave a finding is; the order is that of editors."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text under ``span`` (empty for an insertion) by ``text``."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that remove the finding they belong to. They do not overlap."""

    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding, for example the first consumption of a stream."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. ``span`` counts code points in the file that was checked."""

    code: str
    span: Span
    message: str
    severity: Severity = Severity.ERROR
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    unnecessary: bool = False
    program: str = field(default="", compare=False)


class StepError(Exception):
    """A mistake in a STeP program that runs at once in Python: a code of :mod:`stepcore.codes` and its message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def apply_edits(text: str, edits: list[Edit]) -> str:
    """Apply edits to ``text``; equal edits count once, of overlapping ones the first in the text is kept."""
    pieces: list[str] = []
    position = 0
    previous: Edit | None = None
    for edit in sorted(set(edits), key=lambda e: (e.span.start, e.span.end, e.text)):
        if edit.span.start < position and edit != previous:
            continue
        pieces.append(text[position : edit.span.start])
        pieces.append(edit.text)
        position = max(position, edit.span.end)
        previous = edit
    pieces.append(text[position:])
    return "".join(pieces)
