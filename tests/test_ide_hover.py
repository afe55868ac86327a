"""Hover: streams with their lives, operators, functions, sizes, keys of task files; values of the last run."""

from __future__ import annotations

import pytest

from ide_marks import HEAD, TASK, marked, program, task
from job_records import run_of
from stepcore.ide.hover import hover
from stepcore.jobdata.programs import ComponentRow, QuantityRow, StreamRow
from stepcore.ops import OPERATORS
from stepcore.ops.base import Operator
from test_ide_navigation import path_of

# A text with a cursor, and what its hover says.
CASES = {
    "stream": (
        program("E¦1 = step.Map(fn=double).apply(E0)\nreturn step.Accum(fn=add, b=1).apply(E1)"),
        [
            "E1: [M, N] of fp32",
            "Data: `(N, M)` = `(7, 5)`",
            "Produced in line 25 by `Map(fn=double)`",
            "Consumed in line 26 by `Accum(fn=add, b=1)`",
        ],
    ),
    "input": (program("return ¦E0"), ["E0: [M, N] of fp32", "An input of the program", "Returned in line 25"]),
    "declared input": (
        program("return E0").replace("(E0:", "(E¦0:"),
        ["E0: [M, N] of fp32", "An input of the program"],
    ),
    "not consumed": (program("E1, E¦2 = step.Copy().apply(E0)\nreturn E1"), ["output 1 of 2", "Not consumed yet."]),
    "consumed twice": (
        program("E1 = step.Map(fn=double).apply(E0)\nE2 = step.Promote(b=0).apply(E¦0)\nreturn E1, E2"),
        ["Consumed in line 25 by `Map(fn=double)`, consumed in line 26 by `Promote(b=0)`."],
    ),
    "list": (
        program("x¦s = list(step.Copy().apply(E0))\nreturn xs[0]"),
        [
            "xs[0]: [M, N] of fp32\nxs[1]: [M, N] of fp32",
            "- `xs[0]`:",
            "Returned in line 26",
            "- `xs[1]`:",
            "Not consumed yet.",
        ],
    ),
    "helper's parameter": (
        program("def f(s¦):\n    return step.Map(fn=double).apply(s)\nreturn f(E0)"),
        ["s: [M, N] of fp32", "It is called `E0` too.", "Consumed in line 26"],
    ),
    "size of a branch": (
        task("A, B, C = step.Partition(N=3).apply((E0, S1))\nreturn ¦B"),
        [
            "B: [M, #(S1, 1)] of Buffer(fp32, [L])",
            "`#(S1, 1)`: how often S1 names branch 1; only a run can tell.",
        ],
    ),
    "unknown type": (
        program("E1 = step.Promote(b=9).apply(E0)\nreturn E¦1"),
        ["E1: unknown", "because of an earlier finding"],
    ),
    "operator": (
        program("return step.Acc¦um(fn=add, b=1).apply(E0)"),
        [
            "step.Accum(fn=..., b=...).apply(stream)",
            "Here: `[M, N] of fp32` → `[N] of fp32`",
            "Rule: `shape of T -> shape",
            "- `b` (integer): How many of the innermost dimensions",
            "def sum_inner(",
        ],
    ),
    "operator in a helper that is never called": (
        program("def f(s):\n    return step.Ma¦p(fn=double).apply(s)\nreturn E0"),
        ["step.Map(fn=...).apply(stream)"],
    ),
    "operator on a broken line": (program("E1 = step.Z¦ip().apply((E0\nE2 = 3 +\nreturn E0"), ["step.Zip().apply"]),
    "parameter": (program("return step.Accum(fn=add, ¦b=1).apply(E0)"), ["`b` (integer): How many"]),
    "parameter of fn": (
        HEAD.replace("init=[0]", "in¦it=[0]") + "    return E0\n",
        ["`init`: what the state begins with"],
    ),
    "parameter of program": (HEAD.replace("dims={", "di¦ms={") + "    return E0\n", ["`dims`: sizes for a run"]),
    "function": (
        program("return step.Accum(fn=a¦dd, b=1).apply(E0)"),
        ["add(state, input): fp32 -> fp32", "the state begins with `[0]`", "return [state[0] + input[0]]"],
    ),
    "docstring": (
        program("return E0")
        .replace("    return [input[0] * 2]", '    """Twice as much."""\n    return [input[0] * 2]')
        .replace("def double", "def dou¦ble"),
        ["Twice as much."],
    ),
    "comment above": (
        program("return E0")
        .replace("@step.fn(input=step.f32, output=step.f32)\n", "# Twice.\n@step.fn(input=step.f32, output=step.f32)\n")
        .replace("def double", "def dou¦ble"),
        ["Twice."],
    ),
    "argument of a function": (
        program("return E0").replace("[state[0]", "[st¦ate[0]"),
        ["state[0]: fp32, a tensor ()", "The state so far"],
    ),
    "size": (program("return step.Repeat(n=¦M).apply(E0)"), ["M", "**5** in program unless a run says otherwise"]),
    "type": (program("return E0").replace("ROW = ", "R¦OW = "), ["ROW = Buffer(fp32, [D])", "`(D,)`"]),
    "type maker": (program("return E0").replace("step.Buffer", "step.Buf¦fer"), ["stays on the chip"]),
    "scalar": (program("return E0").replace("step.f32, [D]", "step.f¦32, [D]"), ["32-bit floating point: 4 bytes"]),
    "marker": (program("return E0").replace("[step.Stream", "[step.St¦ream"), ["consumed at most once"]),
    "program": (
        program("return E0").replace("def program", "def pro¦gram"),
        ["program program", "E0: [M, N] of fp32", "-> [N] of fp32", "M = 5, N = 7", "Compared with `reference`"],
    ),
    "reference": (
        program("return E0").replace("def reference", "def refe¦rence"),
        ["PyTorch function that program is compared"],
    ),
    "helper": (program("def f(s):\n    return s\nreturn ¦f(E0)"), ["f(s)", "A helper"]),
    "number": (program("b = 1\nreturn step.Accum(fn=add, b=¦b).apply(E0)"), ["b = 1"]),
    "task input": (task("return ¦E0"), ["E0: [M, N] of Buffer(fp32, [L])", "Data: `(N, M, L)` = `(7, 5, 3)`"]),
    "task input where declared": (task("return E0").replace("name: E0", "name: E¦0"), ["An input of the program."]),
    "task input in a reference": (task("return E0").replace("['E0']", "['E¦0']"), ["An input of the program."]),
    "task function": (task("return step.Map(fn=¦fn_scale).apply(E0)"), ["*Scale*", "multiplies", "-> fp32"]),
    "comment in a body": (task("return E0").replace("func_name: fn_add", "func_name: fn_¦add"), ["adds what comes"]),
    "task size": (task("return E0").replace("fp32, L)", "fp32, ¦L)"), ["bound to **3** by `global`"]),
    "value of a size": (task("return E0").replace("() * L_value", "() * L_va¦lue"), ["bound to **3** by `global`"]),
    "task weight": (task("return E0").replace("{name: W", "{name: ¦W"), ["W: [L, K] of fp32", "is a tensor `(K, L)`"]),
    "task output": (
        task("return E0").replace("name: R0", "name: R¦0"),
        ["R0: [N] of fp32", "An output of the program"],
    ),
    "argument in a task": (
        task("return E0").replace("input[0] * gain", "in¦put[0] * gain"),
        ["input[0]: Buffer(fp32, [L])"],
    ),
    "key": (task("return E0").replace("data_transform:", "data_trans¦form:"), ["Reference of this output"]),
    "type word": (task("return E0").replace("Multihot(fp32", "Multi¦hot(fp32"), ["Multihot(fp32, E)", "A selector"]),
    "input_data": (
        task("return E0").replace("input_data['E0']", "input_¦data['E0']"),
        ["The data of this run by name"],
    ),
    "operator in a task": (
        task("return step.M¦ap(fn=fn_scale).apply(E0)"),
        ["Here: `[M, N] of Buffer(fp32, [L])` → `[M, N] of fp32`"],
    ),
}


@pytest.mark.parametrize(("text", "expected"), CASES.values(), ids=CASES.keys())
def test_hover(text: str, expected: list[str]) -> None:
    case = marked(text, path_of(text))
    found = hover(case.analysis, case.offset)
    assert found is not None
    assert found.span.start <= case.offset <= found.span.end
    for part in expected:
        assert part in found.markdown, found.markdown


@pytest.mark.parametrize(
    "text",
    [
        program("return E0  # com¦ment"),
        program("return E0").replace("x.sum", "¦x.sum"),
        program("return E0¦").replace("import stepcore", "import steps").replace("from stepcore", "from steps"),
        task("return E0").replace("torch.randn", "torch.ra¦ndn"),
        task("return E0").replace("scaled", "sca¦led"),
    ],
)
def test_no_hover(text: str) -> None:
    case = marked(text, path_of(text))
    assert hover(case.analysis, case.offset) is None


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_every_operator_is_documented_in_its_example(operator: type[Operator]) -> None:
    text = operator.example
    case = marked(text.replace(f"step.{operator.__name__}(", f"step.¦{operator.__name__}(", 1))
    found = hover(case.analysis, case.offset)
    assert found is not None
    assert operator.summary in found.markdown
    assert operator.rule in found.markdown
    assert "Here: " in found.markdown
    assert all(param.doc in found.markdown for param in operator.params)


def test_a_broken_line_leaves_the_hovers_elsewhere() -> None:
    text = program("E¦1 = step.Map(fn=double).apply(E0)\nE2 = step.Map(fn=add\nreturn E1")
    case = marked(text)
    found = hover(case.analysis, case.offset)
    assert found is not None
    assert "E1: [M, N] of fp32" in found.markdown
    broken = hover(case.analysis, case.text.index("add\n"))
    assert broken is not None
    assert "add(state, input)" in broken.markdown


def test_values_of_the_last_run() -> None:
    case = marked(program("return step.Accum(fn=add, b=1).apply(¦E0)"))
    component = ComponentRow("fp32", (7, 5), (0.5, "nan"), min=0.25, max=2.0, mean=1.0, nan=2, infinite=0)
    streams = (StreamRow(name, "stream", "fp32", (), (), QuantityRow(None, 1), (component,)) for name in ("E0", ""))
    found = hover(case.analysis, case.offset, run_of(*streams))
    assert found is not None
    assert "Last run: `(7, 5)` fp32 `[0.5, nan, ...]`, from 0.25 to 2, mean 1, **2 NaN**" in found.markdown
    without = hover(case.analysis, case.offset)
    assert without is not None
    assert "Last run" not in without.markdown


def test_an_answer_file_knows_its_task() -> None:
    impl = "impl: |\n  E1 = step.Map(fn=fn_scale).apply(E0)\n  return E1\n"
    case = marked(impl, "case.impl.yaml")
    assert case.analysis.kind == "none"  # nobody said which task
    from stepcore.ide.analysis import analyze

    analysis = analyze(impl, "case.impl.yaml", task=(TASK + "  return E0\n", "case.step.yaml"))
    for word, expected in (("E0", "An input of the program."), ("E1", "Produced in line 2"), ("fn_scale", "*Scale*")):
        found = hover(analysis, impl.index(word))
        assert found is not None
        assert expected in found.markdown
