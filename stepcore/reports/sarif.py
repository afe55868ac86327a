"""Findings as SARIF 2.1.0, for code scanning services."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from stepcore.findings.codes import CODES
from stepcore.findings.diagnostics import Diagnostic, Fix, Severity, listed
from stepcore.findings.explain import page, summary
from stepcore.reports.text import FileReport
from stepcore.text.span import SourceFile, Span
from stepcore.version import VERSION

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {
    Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFORMATION: "note", Severity.HINT: "note",
}  # fmt: skip


def render_sarif(reports: Sequence[FileReport]) -> str:
    """Return one SARIF log with one run; only rules that were broken are described."""
    codes = sorted({found.code for report in reports for found in report.diagnostics})
    run = {
        "tool": {"driver": {**_tool(), "rules": [_rule(code) for code in codes]}},
        "columnKind": "utf16CodeUnits",
        "artifacts": [{"location": {"uri": _uri(report.path)}} for report in reports],
        "results": [result for report in reports for result in _results(report, codes)],
        "invocations": [{"executionSuccessful": not any(report.unusable for report in reports)}],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _tool() -> dict[str, str]:
    """Name this tool, and its home page where the distribution has one."""
    try:
        pages = metadata("stepsmith").get_all("Project-URL") or []
    except PackageNotFoundError:
        pages = []
    home = next((url.strip() for label, _, url in (page.partition(",") for page in pages) if label == "Homepage"), "")
    return {"name": "Stepsmith", "version": VERSION} | ({"informationUri": home} if home else {})


def _results(report: FileReport, codes: Sequence[str]) -> list[dict[str, Any]]:
    """Return the findings of one file; equal ones on equal lines are told apart by their order."""
    seen: Counter[str] = Counter()
    results: list[dict[str, Any]] = []
    for found in listed(report.diagnostics):
        mark = _fingerprint(report.source, found)
        seen[mark] += 1
        result = _result(report.source, found, codes.index(found.code))
        results.append(result | {"partialFingerprints": {"primaryLocationLineHash": f"{mark}:{seen[mark]}"}})
    return results


def _fingerprint(source: SourceFile, found: Diagnostic) -> str:
    """Return what stays the same when a finding only moves: a hash of its code and of the text of its line."""
    line, _ = source.line_col(found.span.start)
    text = f"{found.code}\0{source.line_text(line).strip()}"
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _rule(code: str) -> dict[str, Any]:
    info = CODES[code]
    text = page(code)
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in info.title.split() if word.isalpha()),
        "shortDescription": {"text": info.title},
        "fullDescription": {"text": summary(code)},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": _LEVELS[info.severity]},
    }


def _result(source: SourceFile, found: Diagnostic, rule: int) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": found.code,
        "ruleIndex": rule,
        "level": _LEVELS[found.severity],
        "message": {"text": found.message},
        "locations": [_location(source, found.span)],
    }
    if found.related:
        result["relatedLocations"] = [
            {**_location(source, related.span), "id": number, "message": {"text": related.message}}
            for number, related in enumerate(found.related)
        ]
    if found.fix is not None:
        result["fixes"] = [_fix(source, found.fix)]
    return result


def _location(source: SourceFile, span: Span) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": _uri(source.path)}, "region": _region(source, span)}
    return {"physicalLocation": place}


def _region(source: SourceFile, span: Span) -> dict[str, int]:
    """SARIF counts lines and columns from 1."""
    (line, column), (end_line, end_column) = source.utf16_position(span.start), source.utf16_position(span.end)
    return {
        "startLine": line + 1, "startColumn": column + 1, "endLine": end_line + 1, "endColumn": end_column + 1,
    }  # fmt: skip


def _fix(source: SourceFile, fix: Fix) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(source, edit.span), "insertedContent": {"text": edit.text}} for edit in fix.edits
    ]
    change = {"artifactLocation": {"uri": _uri(source.path)}, "replacements": replacements}
    return {"description": {"text": fix.title}, "artifactChanges": [change]}


def _uri(path: str) -> str:
    file = Path(path)
    # The bytes of the name, whatever they are: not every name is text.
    return file.as_uri() if file.is_absolute() else quote(os.fsencode(file.as_posix()))
