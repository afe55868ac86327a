"""A slip of one mark in a task file is one finding, at its place, whose fix brings back a file without findings."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from stepcore.check.files import check_text
from stepcore.findings.diagnostics import Diagnostic, Severity, apply_edits
from stepcore.frontend.yaml import slips
from stepcore.frontend.yaml.mending import mended
from stepcore.frontend.yaml.tasks import TASK_SCHEMA, read_task
from yaml_faults import Mutant, mutants

TASKS = sorted((Path(__file__).parent.parent / "benchmarks" / "tasks").glob("*.step.yaml"))
WHOLE = TASKS[0].with_name("index_sequence_top3.step.yaml")
SAMPLE = 10  # mutants of each task
# Right YAML: a dash or a single line of code may stand so.
MAY_BE_RIGHT = {"dash: indented", "mark: no |"}
# Whoever has to choose between two places is not offered a fix that might be wrong.
WITHOUT_FIX = {"key: twice", "key: the first twice", "dash: indented", "dash: a space", "section: twice"}
TASK = """\
test_name: t
inputs:
- {name: E0, dtype: fp32, dims: [M, N]}
fns:
- name: F
  func_name: f
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2]
outputs:
- {name: S0, dtype: fp32, dims: [M, N]}
impl: |
  return step.Map(fn=f).apply(E0)
"""


def findings(text: str) -> list[Diagnostic]:
    """Return errors and warnings."""
    found = check_text(text, "t.step.yaml").diagnostics
    return [each for each in found if each.severity in (Severity.ERROR, Severity.WARNING)]


def codes(text: str) -> list[str]:
    """Return the codes of errors and warnings."""
    return [each.code for each in findings(text)]


def assert_one(mutant: Mutant, before: list[str]) -> None:
    """``before`` are the codes of the findings that the task has without its slip."""
    found = [each for each in findings(mutant.text) if each.code not in before]
    shown = f"{mutant.kind}\n" + "\n".join(f"{each.code} {each.message}" for each in found)
    if not found and mutant.kind in MAY_BE_RIGHT:
        return
    assert len(found) == 1, shown
    lines = [mutant.text.count("\n", 0, at) for at in (found[0].span.start, mutant.at)]
    assert abs(lines[0] - lines[1]) <= 1, shown
    if found[0].fix is None:
        assert mutant.kind in WITHOUT_FIX, shown
    else:
        assert codes(apply_edits(mutant.text, list(found[0].fix.edits))) == before, shown


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.partition(".")[0])
def test_a_slip_is_one_finding(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    made = list(mutants(text))
    assert len(made) > 100
    for mutant in random.Random(path.name).sample(made, SAMPLE):
        assert_one(mutant, codes(text))


def test_each_slip_of_a_task_is_one_finding() -> None:
    text = WHOLE.read_text(encoding="utf-8")
    for mutant in mutants(text):
        assert_one(mutant, codes(text))


@pytest.mark.parametrize(
    ("old", "new", "underlined", "says"),
    [
        ("inputs:\n", "inputs\n", "inputs", "a key needs a colon after it: inputs:"),
        ("inputs:\n", "input\n", "input", "a key needs a colon after it: input:"),
        ("inputs:\n- {", "inputs:[{", "inputs:", "a colon needs a space after it"),
        ("outputs:\n", "  outputs:\n", "outputs:", "at the left margin"),
        ("\toutputs:\n".strip("\t"), "\toutputs:\n", "\t", "a tab cannot indent YAML"),
        ("- {name: S0", "{name: S0", "{name: S0, dtype: fp32, dims: [M, N]}", "begins with a dash"),
        ("- name: F", "  name: F", "name: F", "begins with a dash"),
        ("[M, N]}\nfns", "[M, N}\nfns", "N", "a closing bracket ] is missing here"),
        ("[M, N]}\nfns", "[M, N]\nfns", "]", "a closing brace } is missing here"),
        ("E0, dtype", "E0 dtype", "d", "a comma is missing here"),
        ("dtype: fp32, dims: [M, N]}\nfns", "dtype: 'fp32, dims: [M, N]}\nfns", "2", "a quote ' is missing here"),
        ("  func_name: f", " func_name: f", "func_name: f", "in column 3"),
        ("  apply: |", "  apply |", "apply", "a key needs a colon after it: apply:"),
        ("  apply: |", "  apply:: |", ":", "one colon stands behind a key"),
    ],
)
def test_what_a_slip_is_told_as(old: str, new: str, underlined: str, says: str) -> None:
    text = TASK.replace(old, new, 1)
    if "inputs:[" in text:
        text = text.replace("[M, N]}\nfns", "[M, N]}]\nfns")
    found = [each for each in read_task(text, "t.yaml").diagnostics if each.code == "STEP903"]
    assert [text[each.span.start : each.span.end] for each in found] == [underlined]
    assert says in found[0].message


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_two_slips_are_two_findings_and_the_rest_is_checked(line_end: str) -> None:
    text = (
        TASK.replace("inputs:\n", "inputs\n").replace("  apply: |", "  apply |").replace("input[0] * 2", "input[0] * a")
    )
    text = text.replace("\n", line_end)
    found = findings(text)
    assert [each.code for each in found] == ["STEP903", "STEP903", "STEP303"]
    assert text[found[2].span.start : found[2].span.end] == "a"
    for each in found[:2]:
        assert each.fix is not None
    mended_text = apply_edits(text, [edit for each in found[:2] if each.fix for edit in each.fix.edits])
    assert [each.code for each in findings(mended_text)] == ["STEP303"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dims: [M, N]}\nfns", "dims: &s [M, N]}\nfns"),  # right YAML of other forms is not touched
        ("test_name: t", "constraints: >\n  folded\n  text\ntest_name: t"),
        ("test_name: t", "constraints: plain\n  text\ntest_name: t"),
    ],
)
def test_what_is_right_is_not_mended(old: str, new: str) -> None:
    text = TASK.replace(old, new, 1)
    assert findings(text) == []
    assert mended(text, TASK_SCHEMA.known) is None
    assert [each.code for each in findings(text.replace("outputs:\n", "outputs\n"))] == ["STEP903"]


def test_what_is_tried_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = "".join(f"- {{name: E{number} dtype fp32 dims [M, N]}}\n" for number in range(1000))
    text = TASK.replace("fns:", lines + "fns:", 1)
    tried = 0

    def score(section: str, is_trial: bool) -> int | None:
        nonlocal tried
        tried += len(section)
        return None

    slips.Slips(TASK_SCHEMA.known, ("name", "dtype", "dims"), score).of(text)
    assert 0 < tried <= slips.MOST


def test_an_answer_with_a_slip_is_no_program() -> None:
    task = read_task(TASK, "t.yaml", ("impl |\n  return E0\n", "t.impl.yaml"))
    (finding,) = task.impl_diagnostics
    assert (finding.code, task.impl) == ("STEP903", None)
    assert finding.fix is not None


@pytest.mark.parametrize(
    ("line", "underlined", "says"),
    [
        ("x = " + "-" * 3000 + "1", "x", "nested too deeply"),
        ("x = " + "+".join(["1"] * 5000), "x", "nested too deeply"),
        ("x = 1 << 2", "1 << 2", "computes with bits"),
        ("x = 6 & 2", "6 & 2", "computes with bits"),
    ],
)
def test_what_cannot_be_computed_is_told_at_its_line(line: str, underlined: str, says: str) -> None:
    text = TASK.replace("impl: |\n", f"impl: |\n  y = 2\n  {line}\n")
    (found,) = (each for each in findings(text) if each.severity is Severity.ERROR)
    assert text[found.span.start : found.span.end] == underlined
    assert text.count("\n", 0, found.span.start) == TASK.count("\n", 0, TASK.index("impl:")) + 2
    assert says in found.message
