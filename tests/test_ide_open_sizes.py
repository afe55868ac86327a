"""What an editor knows of dynamic and ragged sizes, of `step.fns` and `step.count`: rename, hover, completion."""

from __future__ import annotations

import pytest

from stepcore.findings.diagnostics import apply_edits
from stepcore.ide.analysis import analyze
from stepcore.ide.hover import hover
from stepcore.ide.model import IdeError
from stepcore.ide.navigation import definition, references
from stepcore.ide.rename import prepare_rename, rename

PYTHON = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import M

L = step.dyn("L")
R = step.any_size("R")
T = step.Tile("fp32", [4, 8])
V = step.Tile("fp32", [step.any_size("R"), 8])


@step.fn(input=V, output=V)
def twice(input):
    return [input[0] * 2]


def reference(x):
    return x * 2


@step.program(reference=reference, dims={M: 5}, sizes={"?L": (0, 6), "~K": [1, 0, 2]})
def program(
    x: Annotated[step.Stream, T, (3, step.dyn("L"))], y: Annotated[step.Stream, T, (step.ragged("K"), 3)]
) -> Annotated[step.Stream, T, (3, L)]:
    return step.Map(fn=twice).apply(x)


class Other:
    def dyn(self, text):
        return text


OTHER = Other()
said = OTHER.dyn("L")
"""


def renamed(text: str, at: str, new: str) -> str:
    """Return the text after the name behind the first character of ``at`` was renamed."""
    edits = rename(analyze(text, "file.py"), text.index(at) + at.index('"') + 1, new)
    return apply_edits(text, edits)


@pytest.mark.parametrize("at", ['dyn("L")', 'dyn("L"))]', '"?L"'])
@pytest.mark.parametrize("new", ["Length", "?Length"])
def test_a_dynamic_size_is_renamed_wherever_python_writes_it(at: str, new: str) -> None:
    expected = PYTHON.replace('step.dyn("L")', 'step.dyn("Length")').replace('"?L"', '"?Length"')
    place = PYTHON.index(at) + at.index('"') + at.count("?") + 1
    analysis = analyze(PYTHON, "file.py")
    assert analysis.source.slice(prepare_rename(analysis, place) or pytest.fail()) == "L"
    found = apply_edits(PYTHON, rename(analysis, place, new))
    assert found == expected
    assert 'OTHER.dyn("L")' in found
    assert [item.code for item in analyze(found, "file.py").diagnostics] == [item.code for item in analysis.diagnostics]


def test_ragged_and_any_sizes_are_renamed() -> None:
    assert renamed(PYTHON, 'ragged("K")', "Z") == PYTHON.replace('"K"', '"Z"').replace('"~K"', '"~Z"')
    assert renamed(PYTHON, 'any_size("R")', "Q") == PYTHON.replace('any_size("R")', 'any_size("Q")')


@pytest.mark.parametrize(
    ("old", "new", "name", "said"),
    [
        ("", "", "a b", "'a b' is no name"),
        ('L = step.dyn("L")', 'L = step.dyn("L")\nP = step.dyn("P")', "P", "?P is taken: it is a size of this file"),
        ('L = step.dyn("L")', 'L = step.dyn("L")\nP = [step.dyn(f"A{i}") for i in range(2)]', "P", ""),
        ('L = step.dyn("L")', 'L = step.dyn("L")\nP = [step.dyn(f"L{i}") for i in range(2)]', "P", "may mean ?L"),
        ('L = step.dyn("L")', 'L = step.dyn("L")\nP = [step.dyn(n) for n in "AB"]', "P",
         "step.dyn(n) may mean ?L; write the name out, then rename it"),
    ],
)  # fmt: skip
def test_a_size_is_renamed_whole_or_not_at_all(old: str, new: str, name: str, said: str) -> None:
    text = PYTHON.replace(old, new) if old else PYTHON
    if said:
        with pytest.raises(IdeError, match=said.replace("?", r"\?").replace("(", r"\(").replace(")", r"\)")):
            renamed(text, 'dyn("L")', name)
    else:
        assert 'dyn(f"A{i}")' in renamed(text, 'dyn("L")', name)


def test_a_half_typed_line_is_renamed_too() -> None:
    text = PYTHON.replace("R = step", 'P = (step.dyn("L"\nR = step')
    assert renamed(text, 'dyn("L")', "Q").count('step.dyn("Q"') == 3


def test_a_size_leads_to_where_it_is_made() -> None:
    analysis = analyze(PYTHON, "file.py")
    place = PYTHON.index('"?L"') + 2
    assert len(references(analysis, place)) == 3
    assert [analysis.source.line_col(span.start)[0] for span in definition(analysis, place)] == [5, 22]


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ('"?L"', "dynamic: one value in a run. From 0 to 6."),
        ('"~K"', "ragged: a value for each position of the dimensions outside. Values: (1, 0, 2)."),
        ('"R")', "Any size: bound where it stands first"),
        (" L = "[1:], "?L"),
    ],
)
def test_hover_says_what_a_run_draws(at: str, said: str) -> None:
    found = hover(analyze(PYTHON, "file.py"), PYTHON.index(at) + at.count('"') + at.count("?") + at.count("~"))
    assert found is not None
    assert said in found.markdown
