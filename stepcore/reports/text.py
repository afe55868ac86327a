"""Findings as text for people: path, place, message, the source line with a caret, related places, the fix."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepcore.findings.codes import APPLIED, CODES, fails
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.text.span import SourceFile, Span
from stepcore.text.wording import counted, one_line

_TAB: Final = "    "
_MAX_WIDTH: Final = 120  # columns of source shown around a finding
_COLOURS: Final = {
    Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.INFORMATION: "36;1", Severity.HINT: "36",
}  # fmt: skip


@dataclass(slots=True)
class FileReport:
    """The findings of one file. ``unusable`` says that the file could not be checked at all."""

    source: SourceFile
    diagnostics: list[Diagnostic] = field(default_factory=list)
    unusable: bool = False
    fixed: bool = False

    @property
    def path(self) -> str:
        """The path as it was given."""
        return self.source.path

    @property
    def fails(self) -> bool:
        """True when an error was found, or a warning that is not about timing; what is less makes no command fail."""
        return fails(self.diagnostics)


class Paint:
    """Puts ANSI colours around texts, or leaves them alone."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    def __call__(self, text: str, style: str) -> str:
        """Return ``text`` in ``style`` (the numbers of an ANSI sequence)."""
        return f"\033[{style}m{text}\033[0m" if self._enabled and text else text


def render_text(reports: Iterable[FileReport], paint: Paint, most: int = 0) -> str:
    """Return the findings, an empty line after each; at most ``most`` of each file, unless that is 0."""
    return "".join(_render_file(report, paint, most) for report in reports)


def _render_file(report: FileReport, paint: Paint, most: int) -> str:
    shown = report.diagnostics[:most] if most else report.diagnostics
    texts = [render_finding(report.source, found, paint) + "\n" for found in shown]
    left = len(report.diagnostics) - len(shown)
    if left:
        texts.append(f"{clean(report.path)}: {counted(left, 'more finding')}; --max-findings 0 shows all\n\n")
    return "".join(texts)


def by_code(reports: Sequence[FileReport]) -> str:
    """Return a line for each code that was found, the most frequent first: how often, in how many files, its title."""
    counts = Counter(found.code for report in reports for found in report.diagnostics)
    files = Counter(code for report in reports for code in {found.code for found in report.diagnostics})
    width = len(f"{max(counts.values(), default=0):,}")
    ordered = sorted(counts, key=lambda code: (-counts[code], code))
    return "".join(
        f"{code}  {counts[code]:>{width},} in {counted(files[code], 'file')}: {CODES[code].title}\n" for code in ordered
    )


def render_finding(source: SourceFile, found: Diagnostic, paint: Paint) -> str:
    """Return one finding; lines and columns count from 1, columns in characters."""
    line, column = source.line_col(found.span.start)
    colour = _COLOURS[found.severity]
    first, *more = clean(found.message).split("\n")
    place = paint(f"{one_line(source.path)}:{line + 1}:{column + 1}:", "1")
    label = paint(f"{found.severity.value}[{found.code}]", colour)
    lines = [f"{place} {label} {paint(first, '1')}"]
    lines.extend(_excerpt(source, found.span, paint, colour))
    margin = " " * (len(str(line + 1)) + 1)
    lines.extend(f"{margin}{paint('|', '34')} {text}" for text in more)
    for related in found.related:
        row, col = source.line_col(related.span.start)
        note = f"{one_line(source.path)}:{row + 1}:{col + 1}: {clean(related.message)}"
        lines.append(f"{margin}{paint('=', '34')} {paint('note:', '1')} {note}")
    if found.fix is not None:
        lines.append(f"{margin}{paint('=', '34')} {paint('fix:', '32')} {clean(found.fix.title)}{_how(found)}")
    return "\n".join(lines) + "\n"


def _how(found: Diagnostic) -> str:
    """``--fix`` applies the fixes of affine findings; others, such as a nearer name, are for people to take."""
    return " (--fix)" if found.fix is not None and found.code in APPLIED else ""


def summary(reports: Sequence[FileReport]) -> str:
    """Return the last line: how many findings of which kind in how many files."""
    counts = Counter(found.severity for report in reports for found in report.diagnostics)
    files = counted(len(reports), "file")
    if not counts:
        return f"{files} checked, no findings"
    names = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFORMATION, "note"))
    parts = [counted(counts[severity], name) for severity, name in names if counts[severity]]
    if counts[Severity.HINT]:
        parts.append(counted(counts[Severity.HINT], "hint"))
    fixable = sum(bool(_how(found)) for report in reports for found in report.diagnostics)
    more = f"; {fixable} can be fixed with --fix" if fixable else ""
    return f"{files} checked: {', '.join(parts)}{more}"


def clean(text: str) -> str:
    """Return ``text`` without characters that would steer a terminal; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def _excerpt(source: SourceFile, span: Span, paint: Paint, colour: str) -> list[str]:
    line, column = source.line_col(span.start)
    text = source.line_text(line).rstrip("\r\n")
    if not text.strip():
        return []
    last_line, last_column = source.line_col(span.end)
    end = min(last_column, len(text)) if last_line == line else len(text)
    text, column, end = _window(text, column, max(end, column + 1))
    before, marked = _shown(text[:column]), _shown(text[column:end])
    number = str(line + 1)
    bar = paint("|", "34")
    return [
        f"{paint(number, '34')} {bar} {before}{marked}{_shown(text[end:])}",
        f"{' ' * len(number)} {bar} {' ' * _width(before)}{paint('^' * max(_width(marked), 1), colour)}",
    ]


def _window(text: str, column: int, end: int) -> tuple[str, int, int]:
    """Cut a long line to what stands around the finding."""
    if len(text) <= _MAX_WIDTH:
        return text, column, end
    start = max(0, min(column - _MAX_WIDTH // 3, len(text) - _MAX_WIDTH))
    stop = start + _MAX_WIDTH
    head, tail = "..." if start else "", "..." if stop < len(text) else ""
    shift = len(head) - start
    return head + text[start:stop] + tail, column + shift, min(end, stop) + shift


def _shown(text: str) -> str:
    return clean(text).replace("\t", _TAB)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(unicodedata.combining(c) != 0 for c in text)
