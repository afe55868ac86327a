"""The change that `stepsmith optimize` shows holds no line that brings nothing, and is right all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

import stepagents.optimize.proof
import stepagents.optimize.proved
from stepagents.optimize.candidates import OptimizeTarget
from stepagents.optimize.proof import Judges
from stepagents.optimize.proved import proved_front
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search
from stepagents.optimize.smaller import least_change
from stepcore.rewrites import subject_of
from stepcore.settings.limits import InForce
from stepcore.timing.hardware import PRESETS
from warm import Lent

PATH = Path(__file__).parents[1] / "examples" / "rms_norm.py"


def test_lines_that_bring_nothing_are_as_they_were() -> None:
    before = "a\nb\nc\nd\ne\nf\n"
    after = "A\nB\nc\nnew\nd\nE\n"
    asked: list[str] = []

    def needs_b_and_new(text: str) -> bool:
        asked.append(text)
        return "B\n" in text and "new\n" in text

    assert least_change(before, after, needs_b_and_new) == "a\nB\nc\nnew\nd\ne\nf\n"
    assert len(asked) == len(set(asked))
    assert least_change(before, after, lambda _text: False) == after
    assert least_change(before, after, lambda _text: True) == before
    assert least_change(before, before, lambda _text: False) == before


def test_no_more_than_so_many_texts_are_timed() -> None:
    before = "".join(f"{number}\nsame {number}\n" for number in range(200))
    asked: list[str] = []

    def is_asked(text: str) -> bool:
        asked.append(text)
        return False

    after = before.replace("\nsame", " changed\nsame")
    assert least_change(before, after, is_asked) == after
    assert 0 < len(asked) < 50


@pytest.mark.parametrize("is_right", [True, False])
def test_the_best_is_shown_with_the_least_change_that_is_right(monkeypatch: pytest.MonkeyPatch, is_right: bool) -> None:
    """Types of functions that nothing used any more were changed, too."""
    text = PATH.read_text(encoding="utf-8")
    subject = subject_of(text, str(PATH), "rms_norm")
    assert subject is not None
    search = Search(subject, OptimizeTarget(PRESETS["default"]), SearchRecord())
    search.run()
    best = search.archive.front[0]
    square = "@step.fn(input=step.f32, output=step.f32)\ndef square(input):"
    assert square in text and square not in best.text
    if not is_right:
        wrong = best.text.replace("total / size + 1e-6", "total / size + 1")
        assert wrong != best.text
        monkeypatch.setattr(stepagents.optimize.proved, "least_change", lambda *_given: wrong)
    monkeypatch.setattr(stepagents.optimize.proof, "Pool", Lent)
    with Judges(subject, PRESETS["default"], InForce(60.0, 4096, network=False)) as judges:
        assert judges.begin().accepted
        found = proved_front(search, judges, lambda _line: None, lambda made: made)
    first = found.right[0]
    assert (first.figures, first.steps, found.refused) == (best.figures, best.steps, [])
    assert (square in first.text) is is_right
    assert search.cost_of(first.text) == best.figures
    assert is_right or first.text == best.text
