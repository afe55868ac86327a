"""Findings: what is wrong, where, why, and the edit that mends it.

A :class:`Diagnostic` is plain data. The one table of codes is :mod:`stepcore.findings.codes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from stepcore.text.span import Span
from stepcore.text.wording import short_words

# Findings of one code that one document shows. Nobody mends more at once, and an editor would draw them all.
LISTED: Final = 100


class Severity(Enum):
    """How grave a finding is; the order is that of editors."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"

    @property
    def counts(self) -> bool:
        """Whether a finding makes the exit code 1; information and hints make no command fail."""
        return self in (Severity.ERROR, Severity.WARNING)


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", short_words(self.title))


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains a finding, for example the first consumption of a stream."""

    span: Span
    message: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", short_words(self.message))


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

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", short_words(self.message))


def listed(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Return what one document shows of its findings, in their order: of each code the first :data:`LISTED`.

    Behind those stands one finding more, at the first that is left out, which says how many there are.
    """
    counts = Counter(item.code for item in found)
    many = {code: count for code, count in counts.items() if count > LISTED + 1}
    if not many:
        return list(found)
    met: Counter[str] = Counter()
    shown: list[Diagnostic] = []
    for item in found:
        met[item.code] += 1
        if item.code not in many or met[item.code] <= LISTED:
            shown.append(item)
        elif met[item.code] == LISTED + 1:
            left = [other for other in found if other.code == item.code][LISTED:]
            gravest = min((other.severity for other in left), key=list(Severity).index)
            text = f"and {len(left):,} more of {item.code} from here on; mend the first {LISTED}, and others are listed"
            shown.append(Diagnostic(item.code, item.span, text, gravest, program=item.program))
    return shown


class StepError(Exception):
    """A mistake in a STeP program that runs at once in Python: a code of :mod:`stepcore.findings.codes`, and why."""

    def __init__(self, code: str, message: str) -> None:
        message = short_words(message)
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
