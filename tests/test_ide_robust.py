"""No editor feature raises, anywhere: in all tasks, examples and golden inputs, cut off and with pieces missing."""

from __future__ import annotations

import ast
import random
from itertools import pairwise
from pathlib import Path

import pytest

from golden_files import sources
from stepcore.findings.diagnostics import apply_edits
from stepcore.ide import features
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.model import IdeError, Symbol
from stepcore.ide.names.document import names_of
from stepcore.text.span import Span

ROOT = Path(__file__).parents[1]
FILES = [
    *sorted((ROOT / "benchmarks/tasks").glob("*.yaml")),
    *sorted((ROOT / "examples").rglob("*.py")),
    *(path for path in sources() if path.stat().st_size < 30_000),
]
CUTS = 3
# tasks by their name, in which nothing is known: there is nothing to point at
UNREADABLE = {"STEP903_alias_bomb.step.yaml", "STEP910_empty.step.yaml", "STEP910_other_yaml.step.yaml"}


def read(path: Path) -> str:
    return path.read_bytes().decode("utf-8")


def try_places(analysis: Analysis, step: int) -> int:
    """Ask for everything at every ``step``-th offset; return how many answers there were."""
    text = analysis.source.text
    answers = 0
    for offset in (*range(0, len(text), step), len(text)):
        found = features.hover(analysis, offset)
        used = features.references(analysis, offset)
        assert features.highlights(analysis, offset) == used
        spans = [*features.definition(analysis, offset), *used, *([found.span] if found else [])]
        assert all(0 <= span.start <= span.end <= len(text) for span in spans)
        answers += len(spans)
        try:
            name = features.prepare_rename(analysis, offset)
            assert name is None or name.start <= offset <= name.end
        except IdeError as error:
            assert str(error)
        if analysis.kind != "none":
            answers += len(names_of(analysis).visible(offset))
    return answers


def try_typing(analysis: Analysis, chance: random.Random, places: int = 1) -> None:
    """Ask at some places for what needs an analysis of its own, as if one typed there."""
    text = analysis.source.text
    for offset in (chance.randrange(len(text) + 1) for _ in range(places)):
        for item in features.completions(analysis, offset, snippets=True):
            assert item.label
            assert 0 <= item.edit.span.start <= offset <= item.edit.span.end <= len(text)
        for action in features.actions(analysis, Span(offset, offset)):
            assert action.edits and all(0 <= edit.span.start <= edit.span.end <= len(text) for edit in action.edits)
        help_ = features.signature(analysis, offset)
        assert help_ is None or help_.active is None or 0 <= help_.active < len(help_.parameters)


def try_whole(analysis: Analysis) -> None:
    """Ask for what concerns the whole document, and check that it is well-formed."""
    text, whole = analysis.source.text, Span(0, len(analysis.source.text))
    hints = features.inlay_hints(analysis, whole)
    assert all(0 <= hint.offset <= len(text) and hint.tooltip for hint in hints)
    found = features.tokens(analysis)
    assert all(first.span.end <= second.span.start for first, second in pairwise(found))
    assert all(token.span.start < token.span.end and "\n" not in analysis.source.slice(token.span) for token in found)
    well_formed(features.symbols(analysis), whole)
    assert all(0 <= item.start < item.end < len(analysis.source.line_starts) for item in features.folding(analysis))
    listed, drawn = features.programs(analysis), features.drawn_programs(analysis)
    for info in {*listed, *drawn}:
        assert info.span.start <= info.head.start <= info.head.end <= info.span.end
    for info in drawn:
        picture = features.graph(analysis, info.name)
        assert picture is not None and picture.program == info.name


def test_no_feature_is_left_out() -> None:
    """A new one is asked here, too; what mends a whole document is tried in ``test_ide_actions_everywhere``."""
    asked = {
        node.attr
        for node in ast.walk(ast.parse(Path(__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "features"
    }
    assert asked == {*features.__all__, "__all__"} - {"fix_all"}


def well_formed(found: list[Symbol] | tuple[Symbol, ...], around: Span) -> None:
    for symbol in found:
        assert around.start <= symbol.span.start <= symbol.selection.start
        assert symbol.selection.end <= symbol.span.end <= around.end
        well_formed(symbol.children, symbol.span)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_seventh_offset(path: Path) -> None:
    analysis = analyze(read(path), path.name)
    answers = try_places(analysis, 7)
    try_typing(analysis, random.Random(path.name), 2)
    try_whole(analysis)
    assert answers > 0 or analysis.kind == "none" or path.name in UNREADABLE


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_cut_and_torn_texts(path: Path) -> None:
    text = read(path)
    chance = random.Random(path.name)
    previous = analyze(text, path.name)
    for number in range(CUTS):
        cut = chance.randrange(len(text) + 1)
        torn = text[:cut] + (text[cut + chance.randrange(1, 12) :] if number % 2 else "")
        analysis = analyze(torn, path.name, previous=previous)
        try_places(analysis, 29)
        try_typing(analysis, chance)
        try_whole(analysis)


# Programs that never end take long to check; once for each of their names is too much.
ENDING = [path for path in FILES if "endless" not in path.name]


@pytest.mark.parametrize("path", ENDING, ids=lambda path: path.name)
def test_every_rename_keeps_the_findings(path: Path) -> None:
    text = read(path)
    analysis = analyze(text, path.name)
    if analysis.kind == "none":
        return
    before = [item.code for item in analysis.diagnostics]
    done = set()
    for reference in names_of(analysis).within(Span(0, len(text) + 1)):
        if reference.binding in done:
            continue
        done.add(reference.binding)
        try:
            edits = features.rename(analysis, reference.span.start, "fresh_name")
        except IdeError as error:
            assert str(error)
            continue
        renamed = analyze(apply_edits(text, edits), path.name)
        assert [item.code for item in renamed.diagnostics] == before, reference
