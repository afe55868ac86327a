"""What an editor knows of dynamic and ragged sizes, of `step.fns` and `step.count`: rename, hover, completion."""

from __future__ import annotations

import pytest

from stepcore.findings.diagnostics import apply_edits
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.completion import completions
from stepcore.ide.hover import hover
from stepcore.ide.model import IdeError
from stepcore.ide.navigation import definition, references
from stepcore.ide.rename import prepare_rename, rename
from stepcore.ide.signature import signature

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


# -- completion, hover and signatures -------------------------------------------------------------------------------

TASK = """\
test_name: open
{sizes}inputs:
- {{name: E0, dtype: fp32, dims: ["~L", N]}}
- {{name: E2, dtype: "Tile(fp32, [2, D])", dims: ["?T"]}}
outputs:
- {{name: S0, dtype: fp32, dims: ["~L", N]}}
- {{name: S1, dtype: "Tile(fp32, [2, D])", dims: ["?T"]}}
impl: |-
  return E0, E2
"""
BOTH = ['"~L"', '"?T"']
KEYS = ["min", "max", "values"]


def placed(text: str, path: str) -> tuple[Analysis, int]:
    """Return the analysis of a text without its ``¦``, and where that stood."""
    return analyze(text.replace("¦", ""), path), text.index("¦")


def accepted(text: str, path: str, label: str) -> str:
    """Return the text after the proposal of this label was taken."""
    analysis, offset = placed(text, path)
    return apply_edits(analysis.source.text, [i.edit for i in completions(analysis, offset) if i.label == label][:1])


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ("sizes:\n  ¦\n", BOTH),
        ('sizes:\n  "?¦"\n', BOTH),
        ("sizes:\n  ~¦\n", BOTH),
        ("sizes: {¦}\n", BOTH),
        ("sizes: ¦\n", ['{"~L": {min: 0, max: 8}, "?T": {min: 0, max: 8}}']),
        ('sizes: {"~L": {min: 0, max: 4}, ¦}\n', BOTH[1:]),
        ('sizes:\n  "~L": {max: 4}\n  ¦\n', BOTH[1:]),
        ('sizes:\n  "~L":\n    max: 1\n  ¦\n', BOTH[1:]),
        ('sizes:\n  "~L": ¦\n', ["{min: 0, max: 8}", "{values: [4, 0, 8]}"]),
        ('sizes: {"?T": ¦}\n', ["{min: 0, max: 8}", "{values: [8]}"]),
        ('sizes:\n  "~L": {¦}\n', KEYS),
        ('sizes:\n  "~L": {min: 0, ¦}\n', KEYS[1:]),
        ('sizes:\n  "~L":\n    ¦\n', KEYS),
        ('sizes:\n  "~L":\n    min: 1\n    m¦\n', KEYS[1:]),
        ('sizes:\n  "~L": {min: ¦}\n', []),
        ('sizes:\n  "~L":\n    min: ¦\n', []),
        ('sizes: {"~L": {values: [¦]}}\n', []),
        ("¦", None),
    ],
)
def test_a_task_is_told_which_sizes_it_has_to_draw(sizes: str, labels: list[str] | None) -> None:
    text = TASK.format(sizes=sizes)
    analysis, offset = placed(text, "open.step.yaml")
    found = [item.label for item in completions(analysis, offset)]
    assert found == labels if labels is not None else "sizes" in found


def test_what_is_proposed_for_a_task_is_right() -> None:
    text = accepted(TASK.format(sizes='sizes:\n  "~L": {max: 4}\n  "¦\n'), "open.step.yaml", '"?T"')
    assert not analyze(text, "open.step.yaml").diagnostics
    place = text.index("max: 4") + 1
    shown = hover(analyze(text, "open.step.yaml"), place)
    assert shown is not None and "Greatest value of the size in a run" in shown.markdown


@pytest.mark.parametrize(
    ("drawn", "labels"),
    [
        ("{¦}", ['"?L"', '"~K"']),
        ('{"¦"}', ['"?L"', '"~K"']),
        ('{"~K": (0, 2), "?¦"}', ['"?L"']),
        ('{"~K": (0, 2), ¦}', ['"?L"']),
        ('{"~K": ¦}', ["(0, 8)", "[4, 0, 8]"]),
        ('{"?L": ¦}', ["(0, 8)", "[8]"]),
        ("¦", ['{"?L": (0, 8), "~K": (0, 8)}']),
        ('{"?L": (0, ¦)}', []),
    ],
)
def test_a_python_file_is_told_which_sizes_it_has_to_draw(drawn: str, labels: list[str]) -> None:
    analysis, offset = placed(PYTHON.replace('{"?L": (0, 6), "~K": [1, 0, 2]}', drawn), "file.py")
    assert [item.label for item in completions(analysis, offset)] == labels


def test_what_is_proposed_in_python_is_right() -> None:
    text = PYTHON.replace('{"?L": (0, 6), "~K": [1, 0, 2]}', '{"~K": (0, 2), "¦"}')
    found = analyze(accepted(text, "file.py", '"?L"'), "file.py").diagnostics
    assert [item.code for item in found] == [item.code for item in analyze(PYTHON, "file.py").diagnostics]
    other = PYTHON.replace('dyn("L")', 'dyn("¦")', 1)
    assert completions(*placed(other, "file.py")) == []


def test_ready_made_functions_are_proposed_and_explained() -> None:
    body = "Map(fn=twice)"
    analysis, offset = placed(PYTHON.replace(body, "Map(fn=step.fns.¦)"), "file.py")
    found = {item.label: item for item in completions(analysis, offset, snippets=True)}
    assert len(found) == 17
    assert found["matmul_acc"].edit.text == "matmul_acc($1, $2)"
    assert found["matmul_acc"].documentation == "The sum of `x @ w`, for Accum and Scan."
    assert found["add"].detail == "step.fns.add(x, y=None)"
    analysis, offset = placed(PYTHON.replace(body, "Map(fn=step.fns.matmul(T, ¦))"), "file.py")
    shown = signature(analysis, offset)
    assert shown is not None
    assert (shown.label, shown.active) == ("step.fns.matmul(x, w)", 1)
    assert [item.label for item in completions(analysis, offset)][:2] == ["T", "V"]
    text = PYTHON.replace(body, "Map(fn=step.fns.add(T, T))")
    for at, said in (("add(T", "`y` is of the type of `x` unless given"), ("fns.add", "Ready-made element functions")):
        known = hover(analyze(text, "file.py"), text.index(at))
        assert known is not None and said in known.markdown
    for text in ("FlatMap(fn=¦)", "FlatMap(fn=step.¦)"):
        assert next(iter(completions(*placed(PYTHON.replace(body, text), "file.py")))).label.endswith("count")
    assert "step.fns" in [item.label for item in completions(*placed(PYTHON.replace(body, "Map(fn=¦)"), "file.py"))]
