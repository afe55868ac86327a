"""Comments that ask to ignore findings, and those that ignore none."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from stepcore.findings.codes import CODES, about
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Severity
from stepcore.text.span import SourceFile, Span

_SUPPRESSION: Final = re.compile(r"#\s*stepsmith:\s*ignore(?:\[([^\]\n]*)\])?")


def unsuppressed(source: SourceFile, found: list[Diagnostic], programs: list[Span]) -> list[Diagnostic]:
    """Drop findings that the file asks to ignore; of requests that ignore nothing nothing is said."""
    return _unsuppressed(source, found, programs)[0]


def suppress(
    source: SourceFile, found: list[Diagnostic], programs: list[Span], beside: Iterable[Diagnostic] = ()
) -> list[Diagnostic]:
    """Drop findings that the file asks to ignore, report requests that ignore nothing, and sort by position.

    ``programs`` are the extents of the programs (:func:`program_extent`). Findings ``beside`` them are covered by
    comments on their own lines only, although they may share lines with a program, or its very text.
    """
    kept, unused = _unsuppressed(source, found, programs, beside)
    return sorted([*kept, *unused], key=lambda item: (item.span.start, item.code))


def _unsuppressed(
    source: SourceFile, found: list[Diagnostic], programs: list[Span], beside: Iterable[Diagnostic] = ()
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Return the findings that are left, and those about comments that ignore nothing."""
    by_line, others = _by_line(source, found), _by_line(source, beside)
    unused: list[Diagnostic] = []
    for match in _SUPPRESSION.finditer(source.text):
        line, _ = source.line_col(match.start())
        codes = {code.strip() for code in (match.group(1) or "").split(",") if code.strip()}
        taken = _take(by_line, _covered_lines(source, line, programs), codes)
        taken = _take(others, range(line, line + 1), codes) or taken
        if not taken and not any(about(code).timed for code in codes):
            unused.append(_unused_suppression(source, Span(match.start(), match.end()), codes))
    return [item for lines in (by_line, others) for items in lines.values() for item in items], unused


def _by_line(source: SourceFile, found: Iterable[Diagnostic]) -> dict[int, list[Diagnostic]]:
    by_line: dict[int, list[Diagnostic]] = {}
    for item in found:
        by_line.setdefault(source.line_col(item.span.start)[0], []).append(item)
    return by_line


def _take(by_line: dict[int, list[Diagnostic]], lines: range, codes: set[str]) -> bool:
    """Remove the findings with ``codes`` (all, if empty) on ``lines``; return whether there were any."""
    taken = False
    for line in lines:
        items = by_line.get(line, [])
        kept = [item for item in items if codes and item.code not in codes]
        if len(kept) < len(items):
            taken = True
            by_line[line] = kept
    return taken


def _unused_suppression(source: SourceFile, span: Span, codes: set[str]) -> Diagnostic:
    what = ", ".join(sorted(codes)) or "all findings"
    text = f"this comment suppresses {what}, but there is none here; remove it"
    foreign = sorted(codes - CODES.keys())
    if foreign:
        text = f"this comment suppresses {what}, but there is no code {foreign[0]}; remove it"
    start = span.start
    while start > 0 and source.text[start - 1] in " \t":
        start -= 1
    fix = Fix("Remove the comment", (Edit(Span(start, span.end), ""),))
    return Diagnostic("STEP909", span, text, Severity.WARNING, fix=fix, unnecessary=True)


def _covered_lines(source: SourceFile, line: int, programs: list[Span]) -> range:
    """Return the lines a comment covers: the program whose head it stands on, else its own line."""
    for program in programs:
        first, _ = source.line_col(program.start)
        if first == line:
            last, _ = source.line_col(program.end)
            return range(first, last + 1)
    return range(line, line + 1)
