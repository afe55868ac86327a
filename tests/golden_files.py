"""Renders what the checker finds in a file, for the golden files below ``tests/golden/check``."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from pathlib import Path

from stepcore.check import CheckResult, check_text
from stepcore.findings.diagnostics import Diagnostic, Fix, apply_edits
from stepcore.text.span import SourceFile, Span

FOLDER = Path(__file__).parent / "golden" / "check"
SUFFIXES = (".py", ".step.yaml")


def files(folder: Path) -> set[Path]:
    """Return the files of a folder: where somebody ran or compiled a program of it, Python's cache lies beside them."""
    return {path for path in folder.iterdir() if path.is_file()}


def sources() -> list[Path]:
    """Return the golden programs, sorted by code."""
    return sorted(path for path in files(FOLDER) if path.name.endswith(SUFFIXES))


def code_of(path: Path) -> str:
    """Return the code that a golden file is there for: the first part of its name."""
    return path.name.split("_", 1)[0]


def expected_path(path: Path) -> Path:
    """Return the file that holds what a golden program is known to give."""
    return path.with_name(path.name + ".expected")


def check_file(path: Path) -> CheckResult:
    """Check one golden program, under the published rule where it is about that rule."""
    text = path.read_bytes().decode("utf-8")
    return check_text(text, path.name, affine="paper" if code_of(path) == "STEP104" else "strict")


def render(result: CheckResult) -> str:
    """Return all findings as text: code, severity, range (from 1), message, related places and the fix as a diff."""
    return render_found(result.source, result.diagnostics)


def render_found(source: SourceFile, found: Sequence[Diagnostic]) -> str:
    """Return findings in a file as text."""
    return "".join(_render_one(source, item) for item in found) or "nothing found\n"


def _render_one(source: SourceFile, found: Diagnostic) -> str:
    lines = [f"{found.code} {found.severity.value} {place(source, found.span)}", *_quote(source, found.span)]
    lines += [f"  {line}" for line in found.message.split("\n")]
    for related in found.related:
        lines.append(f"  related {place(source, related.span)}: {related.message}")
    if found.fix is not None:
        lines += _render_fix(source, found.fix)
    return "\n".join(lines) + "\n"


def _quote(source: SourceFile, span: Span) -> list[str]:
    """Return the first line of the finding with the range marked below it."""
    line, column = source.line_col(span.start)
    text = source.line_text(line).rstrip("\r\n")
    width = max(min(span.end - span.start, len(text) - column), 1)
    return [f"  | {text}".replace("\0", "\\0"), f"  | {' ' * column}{'^' * width}"]


def place(source: SourceFile, span: Span) -> str:
    """Return a range as people count: lines and columns from 1."""
    (first, column), (last, end) = source.line_col(span.start), source.line_col(span.end)
    return f"{first + 1}:{column + 1}-{last + 1}:{end + 1}"


def _render_fix(source: SourceFile, fix: Fix) -> list[str]:
    before = source.text.splitlines()
    after = apply_edits(source.text, list(fix.edits)).splitlines()
    diff = list(unified_diff(before, after, lineterm="", n=0))[2:]
    return [f"  fix: {fix.title}", *(f"    {line}" for line in diff)]
