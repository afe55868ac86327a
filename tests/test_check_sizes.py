"""Conditions on sizes that ``--dims`` can change: both arms are checked, and a fix holds at other sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepcore.check import check_text
from stepcore.check.fixing import fix_text
from stepcore.check.programs import ImplChecker
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task

TASKS = sorted((Path(__file__).parents[1] / "benchmarks" / "tasks").glob("*.yaml"))
TASK = """\
global: |
  E = Symbol('E')
  E_value = 4
  ctx[E] = E_value
inputs:
- {name: E0, dtype: fp32, dims: [M, N]}
- {name: E1, dtype: fp32, dims: [M, N]}
fns:
- name: F
  func_name: f
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0]]
outputs:
- {name: S0, dtype: [fp32, fp32], dims: [M, N]}
"""
ZIP = "step.Zip().apply(({}, {}))"
TWICE, ONCE = ZIP.format("E0", "E0"), ZIP.format("E0", "E1")
SIZES = [{}, *({"M": size} for size in (1, 4, 6, 7, 100)), {"N": 5}, {"M": 7, "N": 5}]


def task(body: str) -> str:
    return TASK + "impl: |\n" + "".join(f"  {line}\n" for line in body.strip("\n").split("\n"))


def found(body: str) -> list[tuple[str, str]]:
    items = check_text(task(body), "a.step.yaml").diagnostics
    return [(item.code, item.message) for item in items if item.severity is Severity.ERROR]


def at(text: str, dims: dict[str, int]) -> list[str]:
    """The errors of a run that binds these sizes."""
    read = read_task(text, "a.step.yaml")
    assert read.impl is not None
    checked = ImplChecker(read, dims).check(read.impl.source)
    return [item.code for item in checked.diagnostics if item.severity is Severity.ERROR]


BOTH_ARMS = {
    "other arm": f"if M_value == 5:\n    return {ONCE}\nreturn {TWICE}",
    "both arms": f"if M_value == 5:\n    return {TWICE}\nelse:\n    return {TWICE}",
    "before and in the arm": f"A = step.Map(fn=f).apply(E0)\nif M_value != 5:\n    return {ONCE}\nreturn "
    + ZIP.format("A", "E1"),
    "derived": f"n = 2 * M_value + 1\nwide = n > 50\nif wide:\n    return {TWICE}\nreturn {ONCE}",
    "of an input": f"if E0.ctx[M] == E0.ctx[N]:\n    return {TWICE}\nreturn {ONCE}",
    "table": f"if ctx[M] % 2:\n    return {ONCE}\nreturn {TWICE}",
    "in a loop": f"for i in range(M_value):\n    if i == 5:\n        return {TWICE}\nreturn {ONCE}",
    "in a helper": f"def h(x, y):\n    if M_value == 5:\n        return {ZIP.format('x', 'y')}\n"
    f"    return {ZIP.format('x', 'x')}\nreturn h(E0, E1)",
}


@pytest.mark.parametrize("body", BOTH_ARMS.values(), ids=BOTH_ARMS)
def test_both_arms_are_checked_and_the_fix_holds_at_other_sizes(body: str) -> None:
    text = task(body)
    assert {code for code, _ in found(body)} == {"STEP101"}
    assert any(at(text, dims) for dims in SIZES)
    mended = fix_text(text, "a.step.yaml")
    for dims in SIZES:
        assert at(mended, dims) == [], (dims, mended)


def test_a_fix_that_would_break_the_bound_sizes_is_not_offered() -> None:
    text = task(f"return {ONCE} if M_value == 5 else {TWICE}")
    (item,) = check_text(text, "a.step.yaml").diagnostics
    assert (item.code, item.fix) == ("STEP101", None)
    assert fix_text(text, "a.step.yaml") == text


def test_a_program_is_not_written_out_for_the_bound_sizes_alone() -> None:
    body = "xs = [E0, E0, E1][: M_value - 2]\nys = [step.Map(fn=f).apply(x) for x in xs]\nreturn ys[0]"
    text = task(body)
    assert "M_value" in fix_text(text, "a.step.yaml")


def test_findings_say_at_which_sizes() -> None:
    ((code, message),) = found(BOTH_ARMS["other arm"])
    assert code == "STEP101"
    assert message.endswith("(at M=6)")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ("step.Zipp().apply((E0, E1))", "the operator Zipp is not known; did you mean Zip? (at M=6)"),
        ("E0.foo", "E0 is a stream and has no attribute foo; streams are only passed to operators (at M=6)"),
        ("step.Map(fn=g).apply(E0)", "the name g is not known; assign it before"),
    ],
)
def test_a_mistake_in_the_other_arm_is_told_once(other: str, told: str) -> None:
    assert [message for _, message in found(f"return {ONCE} if M_value == 5 else {other}")] == [told]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (f"if M_value == 5:\n    return {ONCE}\nreturn step.Zip().apply(E0)", "STEP205"),
        (f"if M_value == 5:\n    return {ONCE}\nA = step.Flatten(L=[7]).apply(E0)\nreturn A", "STEP218"),
    ],
)
def test_types_and_names_are_checked_in_both(body: str, code: str) -> None:
    assert [code for code, _ in found(body)] == [code]


@pytest.mark.parametrize(
    "body",
    [
        f"if E_value == 4:\n    return {ONCE}\nreturn {TWICE}",
        f"if M_value < 1:\n    return {TWICE}\nreturn {ONCE}",
        f"if M_value == 5:\n    if M_value != 5:\n        return {TWICE}\nreturn {ONCE}",
        "if M_value == 5:\n    A = E0\nelse:\n    A = E1\n"
        f"B = E1 if M_value == 5 else E0\nreturn {ZIP.format('A', 'B')}",
        f"A = [E0, E1] if M_value > 3 else [E1, E0]\nreturn {ZIP.format('A[0]', 'A[1]')}",
    ],
)
def test_what_no_run_meets_is_not_reported(body: str) -> None:
    assert found(body) == []
    assert all(at(task(body), dims) == [] for dims in SIZES)


def test_the_graph_is_that_of_the_bound_sizes() -> None:
    (program,) = check_text(
        task(f"if M_value == 5:\n    return {ONCE}\nreturn {ZIP.format('E1', 'E0')}"), "a.step.yaml"
    ).programs
    assert program.runnable
    assert [node.inputs for node in program.graph.nodes] == [(0, 1)]


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.removesuffix(".step.yaml"))
def test_no_published_program_has_such_a_condition(path: Path) -> None:
    read = read_task(path.read_text(encoding="utf-8"), path.name)
    assert read.impl is not None
    checker = ImplChecker(read)
    for affine in ("strict", "paper"):
        here, everywhere = (checker.check(read.impl.source, affine, everywhere=way) for way in (False, True))
        assert (here.affine_count, here.diagnostics) == (everywhere.affine_count, everywhere.diagnostics)
