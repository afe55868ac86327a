"""Every action that is offered removes the finding that it is offered for."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden_files import sources
from ide_cases import in_python, in_task
from stepcore.findings.diagnostics import apply_edits
from stepcore.ide.actions import FIX_ALL, actions, difference, fix_all
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.model import Action
from stepcore.text.span import Span


def after(analysis: Analysis, action: Action) -> Analysis:
    text = apply_edits(analysis.source.text, list(action.edits))
    return analyze(text, analysis.source.path, previous=analysis)


def offered(analysis: Analysis) -> list[Action]:
    return [action for found in analysis.diagnostics for action in actions(analysis, found.span)]


def check(analysis: Analysis, title: str, expected: str) -> None:
    """Apply the action of this title: its findings are gone and ``expected`` stands in the text."""
    action = next((item for item in offered(analysis) if item.title == title), None)
    assert action is not None, [item.title for item in offered(analysis)]
    result = after(analysis, action)
    assert expected in result.source.text
    for found in action.fixes:
        count = sum((item.code, item.message) == (found.code, found.message) for item in analysis.diagnostics)
        assert sum((item.code, item.message) == (found.code, found.message) for item in result.diagnostics) < count


def test_a_copy_for_one_stream() -> None:
    analysis, _ = in_python("c = step.Zip().apply((a, a))\nd = step.Map(fn=keep).apply(b)\nreturn c|")
    assert any("Copy" in action.title for action in offered(analysis))
    title = next(action.title for action in offered(analysis) if "Copy" in action.title)
    check(analysis, title, "step.Copy().apply(a)")


def test_copies_for_a_whole_program() -> None:
    analysis, _ = in_python("c = step.Zip().apply((a, a))\nd = step.Zip().apply((b, b))\nreturn c, d|")
    check(analysis, "Insert all missing Copy operators of program", "step.Copy().apply(b)")


def test_fix_all_leaves_no_affine_finding() -> None:
    analysis, _ = in_python("c = step.Zip().apply((a, a))\nd = step.Zip().apply((c, c))\nreturn d|, b, b")
    action = fix_all(analysis)
    assert action is not None
    assert action.kind == FIX_ALL
    assert not [found for found in after(analysis, action).diagnostics if found.code.startswith("STEP10")]


def test_nothing_to_fix() -> None:
    analysis, _ = in_python("return step.Map(fn=double).apply(a)|")
    assert fix_all(analysis) is None


@pytest.mark.parametrize(
    ("body", "title", "expected"),
    [
        ("c = step.Accum(fn=add, b=2).apply(a)\nreturn c|", "Wrap a in Promote(b=2)",
         "step.Accum(fn=add, b=2).apply(step.Promote(b=2).apply(a))"),
        ("c = step.Bufferize(a=2).apply(a)\nreturn c|", "Wrap a in Promote(b=2)",
         "step.Bufferize(a=2).apply(step.Promote(b=2).apply(a))"),
        ("c = step.Promote(b=0).apply(a)\nreturn c|", "Wrap c in Flatten(L=[1])",
         "return step.Flatten(L=[1]).apply(c)"),
        ("c = step.Mapp(fn=double).apply(a)\nreturn c|", "Change to Map", "step.Map(fn=double)"),
        ("c = step.Map(fn=dubble).apply(a)\nreturn c|", "Change to double", "fn=double"),
    ],
)  # fmt: skip
def test_wraps_and_names(body: str, title: str, expected: str) -> None:
    analysis, _ = in_python(body)
    check(analysis, title, expected)


def test_actions_inside_a_task_file_keep_its_indentation() -> None:
    analysis, _ = in_task("E2 = step.Zip().apply((E0, E0))\nreturn E2|")
    action = next(item for item in offered(analysis) if "Copy" in item.title)
    text = after(analysis, action).source.text
    assert "\n  E0_1, E0_2 = step.Copy().apply(E0)\n  E2 = step.Zip()" in text or "\n  E0" in text


@pytest.mark.parametrize("case", sources(), ids=lambda case: case.name)
def test_every_action_of_the_golden_files_removes_its_finding(case: Path) -> None:
    text = case.read_text(encoding="utf-8", errors="replace")
    analysis = analyze(text, case.name)
    for found in analysis.diagnostics:
        for action in actions(analysis, found.span):
            result = after(analysis, action)
            assert action.fixes
            for fixed in action.fixes:
                before = sum((item.code, item.message) == (fixed.code, fixed.message) for item in analysis.diagnostics)
                now = sum((item.code, item.message) == (fixed.code, fixed.message) for item in result.diagnostics)
                assert now < before, (action.title, fixed)


@pytest.mark.parametrize(
    ("before", "now"),
    [("", ""), ("a\nb\n", "a\nc\nb\n"), ("a\r\nb", "b"), ("a\n", "a"), ("x\ny\nz", "z\ny\nx")],
)
def test_the_difference_turns_one_text_into_the_other(before: str, now: str) -> None:
    assert apply_edits(before, difference(before, now)) == now


def test_a_place_without_findings_offers_nothing() -> None:
    analysis, _ = in_python("return step.Map(fn=double).apply(a)|")
    assert actions(analysis, Span(0, 3)) == []
