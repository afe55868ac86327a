"""A name that a body binds is its own from the beginning, as Python says: read before, it has no value."""

from __future__ import annotations

import ast
import tracemalloc
from importlib import import_module
from typing import Any

import pytest
import torch

import early_programs
from stepcore.check.files import check_text
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.early import faults_in_body
from stepcore.fn.early.paths import ANYTHING, KnownItems, same
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import FnRuntimeError
from stepcore.text.span import Embedded
from test_faults import PYTHON, TASK
from test_program_semantics import elaborated
from test_purity import codes, with_body, with_global

RETURNED = "return step.Map(fn=fn_f).apply(E0)"


def in_program(code: str) -> str:
    lines = "\n  ".join(code.splitlines())
    return TASK.replace(RETURNED, f"{lines}\n  {RETURNED}")


EARLY = [
    "b = M\nM = 1", "M = M + 1", "M += 1", "y = len([1])\nlen = 1", "b, M = M, 1",
    "for M in range(M_value):\n  for M_value in range(1):\n    pass",
    "y = [M for z in [1]]\nM = 1", "y = [z for z in [M]]\nM = 1", "y = [M for M in [M]]\nM = 1",
    "if M_value == 5:\n  b = M\nM = 1", "b = M\ndef M(x):\n  return x",
    "N = N", "if False:\n  M = 1\nb = M", "for M in []:\n  pass\nb = M",
    "def h():\n  b = M\n  M = 1\n  return b\nx = h()",
    "def h():\n  return M\nx = h()\nM = 1",
    "def o():\n  def h():\n    return M\n  x = h()\n  M = 1\n  return x\nx = o()",
    "if M_value == 6:\n  b = M\nM = 1", "x = [1 for y in [1] for M in [M]]", "b = M\nM: int = 1",
]  # fmt: skip
FINE = [
    "M = 1\nb = M", "y = [M for M in [1]]\nM = 2", "for M in [1]:\n  b = M", "def h(x):\n  return M\nM = 1",
    "E0 = E0", "M, b = 1, 2\nc = M", "b = M", "def h():\n  b = M\n  M = 1\n  return b", "if False:\n  b = M\nM = 1",
    "for i in range(2):\n  if i == 1:\n    b = M\n  M = 1", "def h(M):\n  b = M\n  M = 1\n  return b\nx = h(1)",
    "def h():\n  return M\nM = 1\nx = h()", "x = [M for M in [1] for y in [M]]",
    "def h(n):\n  y = n\n  return y\nx = h(1)",
]  # fmt: skip


@pytest.mark.parametrize("code", EARLY)
def test_programs_that_read_too_early_are_refused(code: str) -> None:
    found = check_text(in_program(code), "case.step.yaml").diagnostics
    assert [item.code for item in found].count("STEP202") == 1
    assert "has no value here" in "".join(item.message for item in found)


def test_a_name_that_is_nowhere_else_is_not_known_before() -> None:
    (found,) = check_text(in_program("b = y\ny = 1"), "case.step.yaml").diagnostics
    assert (found.code, found.message) == ("STEP202", "the name y is not known; assign it before")


@pytest.mark.parametrize("code", FINE)
def test_programs_that_bind_first_are_not(code: str) -> None:
    assert "STEP202" not in codes(in_program(code))


def test_programs_of_python_files() -> None:
    before, head = "fn_f_again = 3\n\n\n@step.program", "@step.program"
    assert PYTHON.count(head) == 1
    text = PYTHON.replace(head, before)
    start = text.index(":\n", text.index("def ", text.index(head))) + 2
    body = "    b = fn_f_again\n    fn_f_again = 1\n"
    found = check_text(text[:start] + body + text[start:], "case.step.py").diagnostics
    assert [item.code for item in found] == ["STEP202"]
    assert "has no value here" in found[0].message
    fine = check_text(text[:start] + "    fn_f_again = 1\n    b = fn_f_again\n" + text[start:], "case.step.py")
    assert not fine.diagnostics


@pytest.mark.parametrize("code", ["b = x\nx = 1", "x = x", "b = max(1, 2)\nmax = 1", "for x in range(x):\n  b = 1"])
def test_functions_that_read_too_early_are_refused(code: str) -> None:
    text = with_global("x = 3", with_body(f"{code}\nreturn [input[0] * 2]"))
    assert codes(text) == ["STEP303"]


FUNCTIONS = [
    "b = y\ny = 1", "if M_value == 5:\n  x = 1\nelse:\n  b = x\nb = x", "for x in []:\n  pass\nb = x",
    "if False:\n  x = 1\nb = x", "def h():\n  b = x\n  x = 1\n  return b\nb = h()",
    "def h():\n  return x\nb = h()\nx = 1", "b = (lambda: x)()\nx = 1",
    "def h():\n  def g():\n    return y\n  b = g()\n  y = 1\n  return b\nb = h()", "b = [x for z in [1] for x in [x]]",
    "if input[0] > 0:\n  b = x\nx = 1", "b = sorted([1], key=lambda z: x)\nx = 1", "b = late(0)", "x: int\nb = x",
    "for i in range(2):\n  if i:\n    break\nelse:\n  x = 1\nb = x", "def h():\n  b = x\n  x = 1\n  return b",
]  # fmt: skip


@pytest.mark.parametrize("code", FUNCTIONS)
def test_functions_that_find_no_value_are_refused(code: str) -> None:
    head = "x = 3\ndef late(z):\n  if z:\n    w = 1\n  return w"
    code = code.replace("M_value == 5", "M_value == 6")
    found = check_text(with_global(head, with_body(f"{code}\nreturn [input[0] * 2]")), "case.step.yaml").diagnostics
    assert [item.code for item in found] == ["STEP303"]
    assert "value" in found[0].message


RUNS = [
    "if M_value == 5:\n  x = 1\nb = x", "for x in [1]:\n  pass\nb = x", "for x in range(M_value):\n  y = 1\nb = y",
    "for i in range(2):\n  if i == 1:\n    b = x\n  x = 1", "if input[0] > 0:\n  x = 1\nelse:\n  x = 2\nb = x",
    "if input[0] > 0:\n  y = 1\nfor i in range(2):\n  if i:\n    b = z\n  z = 1", "b = late(1)", "x = y = 1\nb = x + y",
    "def h():\n  return x\nx = 1\nb = h()", "b = [x for x in [1] for z in [x]]",
    "def h(n):\n  return h(n - 1) if n else 0\nx = h(3)",
    "b = sorted([1], key=lambda x: x)", "x = 0\nfor i in input:\n  x = x + 1",
    "if (x := 1):\n  b = x", "x = [x for x in [1]]",
]  # fmt: skip


@pytest.mark.parametrize("code", RUNS)
def test_functions_that_python_runs_are_not(code: str) -> None:
    head = "x = 3\ndef late(z):\n  if z:\n    w = 1\n  return w"
    assert codes(with_global(head, with_body(f"{code}\nreturn [input[0] * 2]"))) == []


REFERENCES = [
    "b = x\nx = 1\ninput_data['E0'] * 2", "b = max(1, 2)\nmax = 1\ninput_data['E0'] * 2",
    "def h():\n  b = x\n  x = 1\n  return b\nb = h()\ninput_data['E0'] * 2", "E0 = E0 * 2",
]  # fmt: skip


def with_reference(code: str) -> str:
    block = "".join(f"    {line}\n" for line in code.splitlines())
    assert "    input_data['E0'] * 2\n" in TASK
    return TASK.replace("    input_data['E0'] * 2\n", block)


@pytest.mark.parametrize("code", REFERENCES)
def test_references_that_find_no_value_are_refused(code: str) -> None:
    assert codes(with_global("x = 3", with_reference(code))) == ["STEP303"]


def test_blocks_of_references_share_one_scope() -> None:
    two = with_reference("b = x\ninput_data['E0'] * 2") + "impl"
    second = "- name: S1\n  dtype: fp32\n  dims: [M, N]\n  data_transform:\n  - |\n    {}\n    input_data['E0'] * 2\n"
    for line, expected in (("x = 1", ["STEP303"]), ("y = 1", [])):
        text = with_global("x = 3", two.replace("impl: |", second.format(line) + "impl: |").removesuffix("impl"))
        text = text.replace(
            "  return step.Map(fn=fn_f).apply(E0)",
            "  a, b = step.Copy().apply(E0)\n  return step.Map(fn=fn_f).apply(a), step.Map(fn=fn_f).apply(b)",
        )
        assert codes(text) == expected


@pytest.mark.parametrize(
    "code", ["b = a\na = 1", "def h():\n  return z\nb = h()\nz = 1", "def h():\n  b = len([1])\n  len = 1\n  return b"]
)
def test_global_is_read_in_order(code: str) -> None:
    assert codes(with_global(code)) == ["STEP303"]


@pytest.mark.parametrize("code", ["b = len([1])\nlen = 1", "def h():\n  return z\nz = 1\nb = h()", "b = M\nM = 1"])
def test_a_name_of_global_is_one_from_outside_until_it_is_bound(code: str) -> None:
    assert codes(with_global(code)) == []


@pytest.mark.parametrize("code", ["x = 1\nb = x", "b = [x for x in range(3)]", "b = x", "def h(y):\n  return x\nx = 1"])
def test_functions_that_bind_first_are_not(code: str) -> None:
    assert codes(with_global("x = 3", with_body(f"{code}\nreturn [input[0] * 2]"))) == []


def interpreted(text: str, argument: int) -> Any:
    """Return what the interpreter of functions gives, or the message with which it refuses."""
    block = f"{early_programs.function_of(text)}result = program({argument})\n"
    try:
        return FnEnv(FnScope(prelude=CodeBlock(Embedded.whole(block))), {}, {}, torch.float32).globals["result"]
    except FnRuntimeError as error:
        return error


@pytest.mark.parametrize("part", range(2))
def test_the_interpreter_reads_names_as_python_does(part: int) -> None:
    early = 0
    for number in range(100):
        text = early_programs.drawn(part, number, data=True)
        for argument in range(4):
            run, found = early_programs.run(text, argument), interpreted(text, argument)
            if run.is_early:
                early += 1
                assert isinstance(found, FnRuntimeError), text
                assert "has no value here" in found.message, text
            elif run.error is None:
                assert found == run.result, text
    assert 100 < early < 300


@pytest.mark.parametrize("part", range(2))
def test_what_check_finds_is_what_python_raises(part: int) -> None:
    """Where no data decide; and where they do, what is found raises or is never read."""
    kinds = {"raises": 0, "runs": 0, "never read": 0}
    for number in range(200):
        data = bool(number % 2)
        text = early_programs.drawn(part, number, data=data)
        runs = [early_programs.run(text, argument) for argument in range(4 if data else 1)]
        found = faults_in_body(CodeBlock(Embedded.whole(text), ("u",)), FnScope())
        if not any(run.is_early for run in runs):
            kinds["runs"] += 1
            lines = frozenset().union(*(run.lines for run in runs))
            for read in found:
                line = text.splitlines()[read.node.lineno - 1]
                if not any(word in line for word in (" if ", " for ", "lambda")):
                    assert read.node.lineno not in lines, text
                    kinds["never read"] += 1
        elif not data:
            kinds["raises"] += 1
            assert found, text
    assert kinds["raises"] > 15
    assert kinds["runs"] > 60
    assert kinds["never read"] > 5


@pytest.mark.parametrize("part", range(2))
def test_programs_find_no_value_where_python_finds_none(part: int) -> None:
    early = others = 0
    for number in range(150):
        text = early_programs.drawn(part, number, data=False).replace("program(u)", "program()")
        run, (found, _) = early_programs.run(text, 0), elaborated(text)
        told = [message for message in found if "has no value here" in message or "is not known" in message]
        if run.is_early and (told or not found):
            early += 1
            assert told, text
        elif len(told) == len(found) and run.error is None:
            others += 1
            assert not told, text
    assert early > 20
    assert others > 30


DOUBLED = "a = [1]\n" + "a = [*a, *a]\n" * 22  # four million items, were they all followed


@pytest.mark.parametrize(
    "text", [with_global(DOUBLED), with_body(f"{DOUBLED}return [input[0] * 2]"), with_reference(f"{DOUBLED}x = a[0]")]
)
def test_lists_that_double_are_followed_while_they_are_short(text: str) -> None:
    check_text(text, "case.step.yaml")  # what is imported and kept is no matter of the text
    tracemalloc.start()
    try:
        found = check_text(f"{text}\n", "case.step.yaml").diagnostics
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert "STEP311" in {item.code for item in found}
    assert most < 8 << 20


def test_lists_that_hold_lists_twice_are_compared_in_part() -> None:
    def nest(depth: int) -> KnownItems:
        value = KnownItems((1,), is_list=True)
        for _ in range(depth):
            value = KnownItems((value, value), is_list=True)
        return value

    assert same(nest(3), nest(3))
    assert not same(nest(3), nest(4))
    assert not same(nest(60), nest(60))  # nobody can tell in time
    assert same(ANYTHING, ANYTHING) and not same(1, True)


def test_what_may_change_lists_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module("stepcore.fn.early.statements")  # the package has a function of that name
    looked: list[ast.AST] = []
    real = module._may_change_length

    def counted(node: ast.AST) -> bool:
        looked.append(node)
        return bool(real(node))

    monkeypatch.setattr(module, "_may_change_length", counted)
    for count in (20, 40):
        looked.clear()
        lines = [f"a{each} = [1]\nb{each} = a{each}" for each in range(count)]
        check_text(with_global("\n".join(lines)), "case.step.yaml")
        assert 0 < len(looked) <= 2 * 20 * count  # two followers at most, and some nodes a line
