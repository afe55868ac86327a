"""Half-typed programs: cut at a token, they leave the findings of all other programs alone, and no feature raises."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from joined_programs import EXAMPLES, TASKS, WITNESS, Joined, boundaries, join, task_name, warnings_of
from stepcore.findings.diagnostics import Diagnostic
from stepcore.frontend.syntax import split_blocks
from stepcore.ide import features
from stepcore.ide.analysis import Analysis, analyze
from stepcore.text.span import Span

# How many of its boundaries a file is cut at; with STEPSMITH_BOUNDARIES=all at each, which takes half an hour and more.
FEW = 8
IS_LONG = os.environ.get("STEPSMITH_BOUNDARIES") == "all"
LINE_END = re.compile(r"$", re.MULTILINE)
TOKEN = re.compile(r"\w+|[^\w\s]")
GROUP = 4
NOTHING = Span(0, 0)

# Each file begins and ends with programs that have findings.
GROUPS = [
    (WITNESS, *paths[first : first + GROUP], WITNESS)
    for paths in ([path for path in EXAMPLES if path != WITNESS], TASKS)
    for first in range(0, len(paths), GROUP)
]


def name_of(group: Sequence[Path]) -> str:
    return task_name(group[1])


def sample(places: Sequence[int], name: str, count: int) -> Sequence[int]:
    """Return about ``count`` of ``places``, evenly spread and always the same; all of them in a long run."""
    if IS_LONG:
        return places
    step = max(1, len(places) // count)
    return places[crc32(name.encode()) % step :: step]


def ask(analysis: Analysis, offset: int) -> None:
    """Use what an editor uses while someone types at ``offset``."""
    text = analysis.source.text
    start, end = max(0, offset - 200), min(len(text), offset + 200)
    features.hover(analysis, offset)
    features.completions(analysis, offset)
    features.signature(analysis, offset)
    spans = [token.span for token in features.tokens(analysis, Span(start, end))]
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(0 <= hint.offset <= len(text) for hint in features.inlay_hints(analysis, Span(start, end)))
    features.programs(analysis)
    features.symbols(analysis)


# -- Python files ----------------------------------------------------------------------------------------------


@cache
def opened(group: tuple[Path, ...]) -> tuple[Joined, Analysis]:
    joined = join(*group)
    return joined, analyze(joined.text, "joined.py")


def beyond(text: str, at: int) -> Iterator[Span]:
    """Return what may be missing behind ``at``: the rest of the line, of the top-level block, of the file."""
    line = LINE_END.search(text, at)
    block = next(start + len(part) for start, part in split_blocks(text) if at <= start + len(part))
    yield Span(at, len(text) if line is None else line.start())
    yield Span(at, max(at, len(text[:block].rstrip())))
    yield Span(at, len(text))


def described(item: Diagnostic, cut: Span) -> Any:
    """Return a finding with its positions in the text as it is after ``cut`` was taken out, for comparison."""

    def moved(span: Span) -> Span:
        by = cut.end - cut.start if span.start >= cut.end else 0
        return Span(span.start - by, span.end - by)

    fix = item.fix and (item.fix.title, tuple((moved(edit.span), edit.text) for edit in item.fix.edits))
    related = tuple((moved(place.span), without_lines(place.message)) for place in item.related)
    return moved(item.span), item.code, without_lines(item.message), item.severity, related, fix


def without_lines(message: str) -> str:
    return re.sub(r"\bline \d+", "line", message)


def others(found: Sequence[Diagnostic], part: Span, cut: Span) -> list[Any]:
    """Return the findings outside of ``part`` that ``cut`` leaves, as they are after it."""
    outside = (item for item in found if not part.start <= item.span.start < part.end)
    kept = (item for item in outside if item.span.end <= cut.start or item.span.start >= cut.end)
    return sorted((described(item, cut) for item in kept), key=repr)


def part_after(part: Span, cut: Span, text: str) -> Span:
    """Return where ``part`` is in the ``text`` that ``cut`` left.

    The start of the statement behind it belongs to it: that is where Python reports a decorator without function.
    """
    end = min(part.end - min(cut.end, part.end) + cut.start, len(text))
    return Span(part.start, end + len(text[end:]) - len(text[end:].lstrip()) + 1)


def check_cuts(group: tuple[Path, ...], places: Sequence[int]) -> None:
    joined, analysis = opened(group)
    compared = 0
    for at in places:
        part = joined.part_of(at)
        for number, cut in enumerate(beyond(joined.text, at)):
            text = joined.text[: cut.start] + joined.text[cut.end :]
            after = analyze(text, "joined.py", previous=analysis)
            expected = others(analysis.diagnostics, part, cut)
            found = others(after.diagnostics, part_after(part, cut, text), NOTHING)
            assert found == expected, text[max(0, at - 60) : at] + "¦"
            compared += len(expected)
            if number == 0:
                ask(after, at)
    assert compared > 0


@pytest.mark.parametrize("group", GROUPS, ids=name_of)
def test_some_boundaries(group: tuple[Path, ...]) -> None:
    joined, analysis = opened(group)
    assert len(features.programs(analysis)) == len(group)
    found = [item.code for item in analysis.diagnostics if item.code != "STEP101"]
    assert len(found) < len(analysis.diagnostics) and found == warnings_of(*group), (
        "what is joined is as well as it was"
    )
    check_cuts(group, sample(boundaries(joined.text), name_of(group), FEW))


# -- task files ------------------------------------------------------------------------------------------------


IMPL = re.compile(r"^impl: \|.*\n", re.MULTILINE)  # ends each of the published files
MISTAKES = {"apply: |\n": "apply: |\n    torch.exq(input[0])\n", "fns:\n": "unheard_of: 1\nfns:\n"}


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.partition(".")[0])
def test_tasks(path: Path) -> None:
    """A cut ``impl`` leaves what is found in the rest of a task: here an unknown function and an unknown key."""
    text = path.read_text(encoding="utf-8")
    for right, wrong in MISTAKES.items():
        text = text.replace(right, wrong, 1)
    header = IMPL.search(text)
    assert header is not None

    def found_before(analysis: Analysis) -> list[Any]:
        # That now nobody consumes an input, of course, is new.
        found = (item for item in analysis.diagnostics if item.span.start < header.start() and item.code != "STEP103")
        return [described(item, NOTHING) for item in found]

    analysis = analyze(text, path.name)
    before = found_before(analysis)
    assert len(before) >= len(MISTAKES)
    places = sorted({offset for match in TOKEN.finditer(text, header.end()) for offset in match.span()})
    for at in sample(places, path.name, FEW):
        line = LINE_END.search(text, at)
        behind = "" if line is None else text[line.start() :]
        for rest in ("", behind):
            after = analyze(text[:at] + rest, path.name, previous=analysis)
            assert found_before(after) == before, text[max(0, at - 60) : at] + "¦"
        ask(analyze(text[:at] + behind, path.name), at)
