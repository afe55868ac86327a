"""A document that is kept up to date edit by edit shows what checking its whole text would show."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suites.check import python_file
from stepcore.check import check_text
from stepcore.check.files import CheckResult, check_part
from stepcore.frontend.python import ModuleFacts
from stepcore.frontend.syntax import _block_starts, split_blocks
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.cut import Cut, shape
from stepcore.ide.kinds import kind_of, looks_like_task
from stepcore.jobdata.choices import AffineRule

ROOT = Path(__file__).parents[1]
COMPOSED = ROOT / "tests/golden/check/STEP207_composition_layers.py"
FILES = sorted([*ROOT.glob("examples/**/*.py"), *ROOT.glob("benchmarks/tasks/*.yaml"), COMPOSED])
PIECES = (
    "a",
    "E1",
    "(",
    ")",
    ", ",
    "\n",
    " ",
    '"""',
    "step.",
    "é",
    "# x",
    "\n\n@step.fn()\n",
    "import torch\n",
    "[",
    ":",
)


def findings(result: Analysis | CheckResult) -> list[tuple[object, ...]]:
    return sorted(
        (
            found.code,
            found.span,
            found.message,
            found.severity.value,
            tuple(sorted(found.related, key=repr)),
            repr(found.fix),
        )
        for found in result.diagnostics
    )


def edits(text: str, rng: random.Random, count: int) -> Iterator[str]:
    for _ in range(count):
        at = rng.randrange(len(text) + 1)
        if rng.random() < 0.5:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        else:
            text = text[:at] + text[at + rng.randrange(1, 9) :]
        yield text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_random_edits_show_what_the_whole_text_shows(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    state = analyze(text, str(path))
    assert findings(state) == findings(check_text(text, str(path)))
    for changed in edits(text, random.Random(path.name), 12):
        state = analyze(changed, str(path), previous=state)
        if state.kind != "none":
            assert findings(state) == findings(check_text(changed, str(path))), changed


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_long_file_of_programs_shows_what_the_whole_text_shows(seed: int) -> None:
    text = python_file(200)
    state = analyze(text, "long.py")
    for changed in edits(text, random.Random(seed), 60):
        state = analyze(changed, "long.py", previous=state)
        assert findings(state) == findings(check_text(changed, "long.py")), changed


@pytest.mark.parametrize("seed", range(4))
def test_a_text_that_is_cut_again_is_cut_as_if_for_the_first_time(seed: int) -> None:
    text = python_file(120) + "SIZES = {M: 3}\n\nfor n in (1, 2):\n    print(n)\n"
    known = Cut(text)
    for changed in edits(text, random.Random(seed), 150):
        known, fresh = Cut(changed, known), Cut(changed)
        assert known.blocks == fresh.blocks == list(split_blocks(changed)), changed
        assert "".join(block for _, block in known.blocks) == changed[known.blocks[0][0] if known.blocks else 0 :]
        assert known.members == fresh.members, changed
        assert (known.names, known.imports) == (fresh.names, fresh.imports)


def test_what_is_far_from_an_edit_is_the_same_object() -> None:
    text = python_file(200)
    before = Cut(text)
    after = Cut(text.replace("step.Zip()", "step.Zap()", 3).replace("step.Zap()", "step.Zip()", 2), before)
    same = [block is known for (_, block), (_, known) in zip(after.blocks, before.blocks, strict=True)]
    assert same.count(False) == 1


@pytest.mark.parametrize("dims", ["{M: 2, N: 7}", "SIZES", "{}", "dict(M=2)", "{M: True}", "{'M': 2}", "{**SIZES}"])
def test_sizes_that_are_guessed_wrongly_change_no_finding(dims: str) -> None:
    text = python_file(60).replace("dims={M: 1, N: 7, K: 9}", f"dims={dims}", 1)
    text = text.replace("@step.program", "SIZES = {M: 2}\n\n\n@step.program", 1)
    assert findings(analyze(text, "sizes.py")) == findings(check_text(text, "sizes.py"))


def test_a_draft_knows_what_names_stand_for_at_its_place() -> None:
    text = python_file(60).replace("step.Zip().apply((E2, E1))", "step.Zip().apply((E2, E2))")
    state = analyze(text, "draft.py")
    assert state.diagnostics
    for at in (start + 1 for start, _ in state.blocks):
        draft = analyze(text, "draft.py", previous=state, draft=at)
        fresh = analyze(text, "draft.py", draft=at)
        assert [unit.fingerprint for unit in draft.units] == [unit.fingerprint for unit in fresh.units]
        one, other = state.unit_at(at), fresh.unit_at(at)
        assert one is not None
        assert other is not None
        assert one.fingerprint == other.fingerprint
        assert [item.value for item in one.seen] == [item.value for item in other.seen]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note the texts that are checked from now on."""
    checked: list[str] = []

    def counting(part: str, path: str, others: ModuleFacts, affine: AffineRule, **how: Any) -> CheckResult:
        checked.append(part)
        return check_part(part, path, others, affine, **how)

    monkeypatch.setattr("stepcore.ide.analysis.check_part", counting)
    return checked


def test_an_edit_checks_only_the_program_that_it_is_in(monkeypatch: pytest.MonkeyPatch) -> None:
    text = python_file(200)
    state = analyze(text, "long.py")
    checked = counted(monkeypatch)
    state = analyze(text.replace("apply(E4)", "apply(E3)", 1), "long.py", previous=state)
    assert len(checked) == 1
    assert "rows_0(" in checked[0]
    assert "rows_1(" not in checked[0]
    assert [found.code for found in state.diagnostics] == ["STEP101", "STEP208"]
    checked.clear()
    analyze("\n\n" + state.source.text, "long.py", previous=state)
    assert checked == []  # all of it moved, none of it changed


def test_an_edit_of_a_function_checks_the_programs_that_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    text = python_file(200)
    state = analyze(text, "long.py")
    checked = counted(monkeypatch)
    state = analyze(text.replace("* factor]", "* factors]", 1), "long.py", previous=state)
    assert len(checked) in (1, 2)  # again with the names like the one that was not found
    assert [found.code for found in state.diagnostics] == ["STEP303"]


def test_a_composition_follows_its_programs_and_is_checked_when_one_of_them_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from stepcore.check.compositions import CheckedComposition, check_composition

    count: list[object] = []

    def counting(*given: Any) -> CheckedComposition:
        count.append(given)
        return check_composition(*given)

    monkeypatch.setattr("stepcore.ide.compositions.check_composition", counting)
    text = COMPOSED.read_text(encoding="utf-8")
    state = analyze(text, "net.py")
    assert [found.code for found in state.diagnostics] == ["STEP207"]
    moved = analyze("# x\n\n" + text, "net.py", previous=state)
    assert [found.span.start - 5 for found in moved.diagnostics] == [found.span.start for found in state.diagnostics]
    inner = analyze(text.replace("input[0] > 0", "input[0] > 1"), "net.py", previous=state)
    assert [found.code for found in inner.diagnostics] == ["STEP207"]
    assert len(count) == 1
    other = text.replace("-> Annotated[step.Stream, step.bool_, (K, M)]", "-> Annotated[step.Stream, step.i32, (K, M)]")
    found = analyze(
        other.replace("    s = plus.apply(h, h)", '    s = plus.apply(z, weights["bias"])'), "net.py", previous=inner
    )
    assert "plus reads a as fp32, and z is int32" in [item.message for item in found.diagnostics]


def test_fingerprints_follow_what_a_program_depends_on() -> None:
    text = python_file(100)
    before = {unit.checked.name: unit.fingerprint for unit in analyze(text, "f.py").units if unit.checked}
    moved = {unit.checked.name: unit.fingerprint for unit in analyze("# x\n" + text, "f.py").units if unit.checked}
    changed_text = text.replace("torch.relu(row) * factor", "torch.tanh(row) * factor", 1)
    changed = {unit.checked.name: unit.fingerprint for unit in analyze(changed_text, "f.py").units if unit.checked}
    assert moved == before
    assert {name for name in before if changed[name] != before[name]} == {"rows_0"}


def test_positions_are_those_of_the_document() -> None:
    text = python_file(100).replace("apply(E4)", "apply(E5)")
    state = analyze(text, "f.py")
    assert len(state.diagnostics) == text.count("apply(E5)")
    for found in state.diagnostics:
        assert text[found.span.start : found.span.end] == "E5"


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        ("a.py", "import stepcore as step\n", "python"),
        ("a.py", "import torch\n", "none"),
        ("a.yaml", "inputs: []\noutputs: []\n", "task"),
        ("a.yaml", "jobs:\n  inputs: 1\n", "none"),
        ("a.yaml", '# A comment.\n---\n{"inputs": [], "outputs": []}\n', "task"),
        ("a.yaml", '{"jobs": {"uses": []}, "inputs": []}\n', "none"),
        ("a.yaml", '"inputs": []\n"outputs": []\n', "task"),
        ("a.step.yaml", "inputs: []\n", "task"),
        ("a.step.yml", "", "task"),
        ("a.py", "import step\nE0 = step.Stream.of(x)\n", "python"),
        ("a.impl.yaml", "", "impl"),
        ("a.txt", "inputs: []\noutputs: []\n", "none"),
    ],
)
def test_kinds(path: str, text: str, kind: str) -> None:
    assert kind_of(path, text) == kind


def test_other_yaml_is_left_alone() -> None:
    assert not looks_like_task("name: CI\non: push\n")
    assert analyze("inputs: 3\n", "ci.yaml").diagnostics == []


def test_an_answer_is_checked_with_its_task() -> None:
    path = ROOT / "benchmarks/tasks/rope_neox.step.yaml"
    task = (path.read_text(encoding="utf-8"), str(path))
    state = analyze("impl: |\n  return E0, E0\n", "rope_neox.impl.yaml", task=task)
    assert "STEP101" in [found.code for found in state.diagnostics]
    assert all(found.span.end <= len(state.source.text) for found in state.diagnostics)


ODD_PIECES = (
    *("\n", "\r", "\r\n", " ", "\t", "\f", "\x0b", "\x1c", "\u2028", "@a", "else", "elif", "exceptx", "finally"),
    *("#", ")", "]", "}", "x", "16", "2e5", "_", "\u00e9", "def f"),
)


def test_blocks_begin_and_words_are_where_their_definitions_say() -> None:
    """Both are looked for in short ways, because each opening of a file asks for all of its text."""
    begin = re.compile(r"(?<![^\r\n])(?!\f?(?:[^\S\f]|[#)\]}]|(?:else|elif|except|finally)\b))")
    draw = random.Random(15)
    for _ in range(4_000):
        text = "".join(draw.choice(ODD_PIECES) for _ in range(draw.randrange(14)))
        for first in (0, *(index + 1 for index, letter in enumerate(text) if letter in "\r\n")):
            marks = [found.start() for found in begin.finditer(text, first) if found.start() < len(text)]
            pairs = zip(marks, [-1, *marks], strict=False)
            kept = [start for start, before in pairs if before < 0 or text[before] != "@"]
            assert list(_block_starts(text, first)) == [*(kept or [first]), len(text)], (text, first)
        assert shape(text).words == set(re.findall(r"[^\W\d]\w*", text)), text
