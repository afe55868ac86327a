"""Mistakes made on purpose in all examples and tasks: what is offered to mend them does mend them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import pytest

from golden_files import check_file, code_of, sources
from joined_programs import EXAMPLES, TASKS, python_text
from stepcore.findings.diagnostics import Diagnostic, apply_edits
from stepcore.ide import features
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.model import Action
from stepcore.text.span import Span

# How many mistakes of each kind are made in each file.
FEW = 2
# For these something has to be offered.
MENDED = frozenset({"no Copy", "misspelt operator", "misspelt function", "misspelt stream", "misspelt parameter"})
FILES = [*((path, python_text(path)) for path in EXAMPLES), *((path, path.read_text("utf-8")) for path in TASKS)]

COPY = re.compile(r"^ *((?:\w+, )+\w+) = step\.Copy\(\)\.apply\((\w+)\)\n", re.MULTILINE)
WRAP = re.compile(r"step\.(?:Promote|Flatten)\([^()]*\)\.apply\((\w+)\)")
NAME = r"[^\W\d]\w*"
# Where a stream is read; the middle one of three that an operator gives is none.
STREAM = re.compile(
    rf"(?<=[(,] ){NAME}(?=[,)])(?!(?:, {NAME})+ = )|(?<=apply\(){NAME}(?=\))|(?<=return ){NAME}$", re.MULTILINE
)
SIZES = re.compile(r"(?:tile|shape|stride)=\[[^]]*$")  # what stands in these is no stream
OPERATOR = re.compile(r"(?<=step\.)[A-Z]\w+(?=\()")
PARAMETER = re.compile(r"(?<=\()(?:fn|b|a|n|L|S|N)(?==)")
FUNCTION = re.compile(r"(?<=fn=)\w+")
NUMBER = re.compile(r"(?<=[(]b=|[(]a=)\d")
DEFINITION = re.compile(r"^ *(\w+)(?= = step\.)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A text with one thing wrong in it."""

    kind: str
    text: str
    offset: int


def mistakes(text: str) -> Iterator[Mistake]:
    """Make every mistake of every kind that there is an opportunity for."""
    body = text.find("@step.program") if "@step.program" in text else text.find("\nimpl:")
    for match in COPY.finditer(text, body):
        names = "|".join(match[1].split(", "))
        rest = re.sub(rf"\b(?:{names})\b", match[2], text[match.end() :])
        yield Mistake("no Copy", text[: match.start()] + rest, match.start())
    for match in STREAM.finditer(text, body):
        other = next((item[0] for item in STREAM.finditer(text, body) if item[0] != match[0]), match[0])
        yield replaced("another stream", text, match, other)
    for kind, pattern in (("operator", OPERATOR), ("function", FUNCTION), ("stream", STREAM), ("parameter", PARAMETER)):
        for match in pattern.finditer(text, 0 if kind == "function" else body):  # in helpers, too
            if kind == "stream" and SIZES.search(text[: match.start()]):
                continue
            yield replaced(f"misspelt {kind}", text, match, misspelt(match[0]))
    for match in WRAP.finditer(text, body):
        yield replaced("no wrap", text, match, match[1])
    for match in NUMBER.finditer(text, body):
        yield replaced("number", text, match, str(int(match[0]) + 1))
    for match in DEFINITION.finditer(text, body):
        line = text.index("\n", match.end()) + 1
        yield Mistake("no line", text[: match.start()] + text[line:], match.start())


def replaced(kind: str, text: str, match: re.Match[str], new: str) -> Mistake:
    return Mistake(kind, text[: match.start()] + new + text[match.end() :], match.start())


def misspelt(name: str) -> str:
    """Double the middle of a name."""
    middle = len(name) // 2
    return name[: middle + 1] + name[middle:]


def some(found: list[Mistake], name: str) -> list[Mistake]:
    """Return a few of each kind, always the same."""
    kept = []
    for kind in sorted({item.kind for item in found}):
        own = [item for item in found if item.kind == kind]
        step = max(1, len(own) // FEW)
        kept += own[crc32(f"{name} {kind}".encode()) % step :: step][:FEW]
    return kept


def count(findings: list[Diagnostic], wanted: Diagnostic) -> int:
    return sum((item.code, item.message) == (wanted.code, wanted.message) for item in findings)


def check_action(analysis: Analysis, action: Action) -> None:
    """Apply an action: each finding that it is said to remove is there once less."""
    text = apply_edits(analysis.source.text, list(action.edits))
    after = analyze(text, analysis.source.path, affine=analysis.affine)
    assert after.kind == analysis.kind
    assert action.fixes
    for found in action.fixes:
        assert count(after.diagnostics, found) < count(analysis.diagnostics, found), (action.title, found, text)


def check_all(analysis: Analysis) -> int:
    """Apply each action that is offered at each finding, and the one for the file; return how many there are."""
    offered = {(item.title, item.edits): item for found in analysis.diagnostics for item in at(analysis, found.span)}
    whole = features.fix_all(analysis)
    if whole is not None:
        offered[whole.title, whole.edits] = whole
    for action in offered.values():
        check_action(analysis, action)
    return len(offered)


def at(analysis: Analysis, span: Span) -> list[Action]:
    """Return what is offered at a finding: for a selection, and for a cursor in it."""
    found = features.actions(analysis, span)
    assert {item.title for item in features.actions(analysis, Span(span.start, span.start))} <= {
        item.title for item in found
    }
    return found


@pytest.mark.parametrize(("path", "text"), FILES, ids=[path.name.partition(".")[0] for path, _ in FILES])
def test_mistakes_in_examples_and_tasks(path: Path, text: str) -> None:
    found = some(list(mistakes(text)), path.name)
    assert {mistake.kind for mistake in found} >= MENDED - {"no Copy"}
    for mistake in found:
        analysis = analyze(mistake.text, path.name)
        offered = check_all(analysis)
        assert offered or mistake.kind not in MENDED, mistake


@pytest.mark.parametrize("path", sources(), ids=lambda path: path.name)
def test_golden_files_on_every_finding(path: Path) -> None:
    analysis = analyze(
        path.read_bytes().decode("utf-8"), path.name, affine="paper" if code_of(path) == "STEP104" else "strict"
    )
    fixes = [found for found in check_file(path).diagnostics if found.fix is not None]
    offered = check_all(analysis)
    assert offered or not fixes, "a finding with a fix has an action"
