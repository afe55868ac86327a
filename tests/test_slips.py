"""A slip of one sign in a program is one finding: what a broken line was to bind is not missed at each of its uses."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from server_texts import GOOD, HEAD, IMPL, TASK
from stepcore.check.files import check_text
from stepcore.findings.diagnostics import Diagnostic, Severity, apply_edits
from stepcore.frontend.lost_signs import meant_targets
from stepcore.frontend.syntax import parse_suite
from stepcore.ide import features
from stepcore.ide.analysis import analyze
from stepcore.text.span import Span

BODY = """\
    E1, E2 = step.Copy().apply(E0)
    E3 = step.Map(fn=double).apply(E1)
    E4 = step.Map(fn=add).apply((E2, E3))
    return E4
"""
PROGRAM = HEAD + GOOD[: GOOD.index("    E1 =")] + BODY
ADD = """\
- name: Add
  func_name: add
  input_dtype: [fp32, fp32]
  output_dtype: fp32
  apply: |
    return [input[0] + input[1]]
outputs:"""
_FNS = TASK.replace("outputs:", ADD).replace("fn_double", "double")
WHOLE_TASK = _FNS + "impl: |-\n" + BODY.replace("    ", "  ").rstrip("\n") + "\n"
# Two statements on a line, a name glued to the bracket behind it, and what stands in the wrong block: not one finding.
LEFT = 29


def slips(text: str, first: int) -> Iterator[str]:
    """Yield the text with each sign behind ``first`` left out, doubled or beside a stray one, and lines moved."""
    for found in re.finditer(r"[,()\[\]:='\"]|->|\.", text[first:]):
        at = first + found.start()
        yield text[:at] + text[first + found.end() :]
        yield text[:at] + found.group() + text[at:]
        for stray in "$?`;!)":
            yield text[:at] + stray + text[at:]
        if found.group() in "()[]":
            yield text[:at] + found.group().translate(str.maketrans("()[]", "[](]")) + text[at + 1 :]
    for found in re.finditer(r"\n( *)\S", text[first:]):
        at = first + found.start() + 1
        for moved in (" ", "    "):
            yield text[:at] + moved + text[at:]
        if found.group(1):
            yield text[:at] + text[at + 1 :]


def errors(text: str, name: str) -> list[Diagnostic]:
    return [each for each in check_text(text, name).diagnostics if each.severity is Severity.ERROR]


def test_each_slip_of_an_impl_is_one_finding() -> None:
    assert errors(WHOLE_TASK, "a.step.yaml") == []
    texts = list(slips(WHOLE_TASK, WHOLE_TASK.index("impl:") + 8))
    assert len(texts) > 150
    several = [text for text in texts if len(errors(text, "a.step.yaml")) > 1]
    assert several == [WHOLE_TASK.replace("Copy()", "Copy;()")]  # two statements, and both are wrong


def test_nearly_each_slip_of_a_file_is_one_finding() -> None:
    assert errors(PROGRAM, "a.py") == []
    texts = list(slips(PROGRAM, 0))
    assert len(texts) > 900
    several = [text for text in texts if len(errors(text, "a.py")) > 1]
    assert len(several) <= LEFT


@pytest.mark.parametrize(
    "line",
    [
        "E1, E2 step.Copy().apply(E0)",
        "E1, E2 Copy().apply(E0)",
        "E1 E2 = step.Copy().apply(E0)",
        "E1,, E2 = step.Copy().apply(E0)",
        "(E1, E2) step.Copy().apply(E0)",
        "E1, E2: step.Copy().apply(E0)",
        "E1, E2 := step.Copy().apply(E0)",
        "E1, E2 -> step.Copy().apply(E0)",
        "E1, E2 == step.Copy().apply(E0)",
        "E1, E2 != step.Copy().apply(E0)",
        "E1. E2 = step.Copy().apply(E0)",
        "E1?, E2 = step.Copy().apply(E0)",
    ],
)
def test_targets_of_a_broken_line_are_known(line: str) -> None:
    (found,) = errors(PROGRAM.replace("E1, E2 = step.Copy().apply(E0)", line), "a.py")
    assert found.code in ("STEP902", "STEP202", "STEP220")


@pytest.mark.parametrize("name", ["a.py", "a.step.yaml"])
def test_a_lost_sign_is_put_back(name: str) -> None:
    whole = PROGRAM if name == "a.py" else WHOLE_TASK
    text = whole.replace("E1, E2 = step", "E1, E2 step")
    (found,) = errors(text, name)
    assert found.message == "this line cannot be read: a = is missing here"
    assert text[found.span.start :].startswith("step.Copy()")
    assert found.fix is not None
    assert apply_edits(text, [*found.fix.edits]) == whole


@pytest.mark.parametrize(
    "line", ["return step.Map(fn=f) apply(E0)", "for x in range(3)", "not f(x) y", "x", "", "f(x) y(z)", "(" * 900]
)
def test_what_assigns_nothing_has_no_targets(line: str) -> None:
    assert meant_targets(line) is None


def test_imports_in_a_wrong_column_are_read_where_they_stand() -> None:
    suite = parse_suite("import a\n  import b\n  from c import d\nx = 1\n")
    assert [fault.line for fault in suite.faults] == [1]
    places = [(statement.lineno, statement.col_offset, statement.end_col_offset) for statement in suite.body]
    assert places == [(1, 0, 8), (2, 2, 10), (3, 2, 17), (4, 0, 5)]


def test_a_parameter_that_is_compared_is_told_as_such() -> None:
    text = PROGRAM.replace("fn=add", "fn==add")
    (found,) = errors(text, "a.py")
    assert (found.code, found.message) == (
        "STEP203",
        "a parameter of Map is compared here, and not given; write fn=add",
    )
    assert found.fix is not None
    assert apply_edits(text, [*found.fix.edits]) == PROGRAM


def test_streams_made_outside_of_a_program_are_none_of_its_own() -> None:
    # They were taken for those of the program with the same numbers: E3 for E1, which was consumed twice then.
    text = HEAD + "E2, E3 = step.Copy().apply(E1)\n" + GOOD.replace("apply(E0)", "apply(E3)")
    assert "STEP101" not in [found.code for found in errors(text, "a.py")]
    broken = text.replace("    return E1", "    E9 = step.😀 return E1").replace("\nE2, E3", "\nimport os; E2, E3")
    assert features.tokens(analyze(broken, "a.py"), Span(0, len(broken)))


def test_the_task_of_these_tests_is_right() -> None:
    assert errors(TASK + IMPL, "a.step.yaml") == []
