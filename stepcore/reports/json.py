"""Findings as JSON, positions as editors count them: zero-based lines, characters in UTF-16 units."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from stepcore.findings.diagnostics import Diagnostic, Fix, listed
from stepcore.reports.text import FileReport
from stepcore.text.span import SourceFile, Span


def render_json(reports: Iterable[FileReport]) -> str:
    """Return ``{"files": [{"path", "diagnostics": [...]}]}``; files without findings are listed too."""
    files = [
        {"path": report.path, "diagnostics": [as_json(report.source, found) for found in listed(report.diagnostics)]}
        for report in reports
    ]
    return json.dumps({"files": files}, indent=2)


def as_json(source: SourceFile, found: Diagnostic) -> dict[str, Any]:
    """Return one finding as plain data."""
    return {
        "code": found.code,
        "severity": found.severity.value,
        "message": found.message,
        "range": range_json(source, found.span),
        "related": [{"range": range_json(source, r.span), "message": r.message} for r in found.related],
        "fix": None if found.fix is None else _fix(source, found.fix),
    }


def range_json(source: SourceFile, span: Span) -> dict[str, dict[str, int]]:
    """Return a span as an editor's range."""
    return {"start": _position(source, span.start), "end": _position(source, span.end)}


def _position(source: SourceFile, offset: int) -> dict[str, int]:
    line, character = source.utf16_position(offset)
    return {"line": line, "character": character}


def _fix(source: SourceFile, fix: Fix) -> dict[str, Any]:
    edits = [{"range": range_json(source, edit.span), "newText": edit.text} for edit in fix.edits]
    return {"title": fix.title, "edits": edits}
