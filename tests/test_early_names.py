"""A name that a body binds is its own from the beginning, as Python says: read before, it has no value."""

from __future__ import annotations

import pytest

from stepcore.check.files import check_text
from test_faults import PYTHON, TASK
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
]  # fmt: skip
FINE = [
    "M = 1\nb = M", "y = [M for M in [1]]\nM = 2", "for M in [1]:\n  b = M", "def h(x):\n  return M\nM = 1",
    "E0 = E0", "M, b = 1, 2\nc = M", "b = M",
]  # fmt: skip


@pytest.mark.parametrize("code", EARLY)
def test_programs_that_read_too_early_are_refused(code: str) -> None:
    found = check_text(in_program(code), "case.step.yaml").diagnostics
    assert [item.code for item in found].count("STEP202") == 1
    assert "has no value here" in "".join(item.message for item in found)


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


@pytest.mark.parametrize("code", ["x = 1\nb = x", "b = [x for x in range(3)]", "b = x", "def h(y):\n  return x\nx = 1"])
def test_functions_that_bind_first_are_not(code: str) -> None:
    assert codes(with_global("x = 3", with_body(f"{code}\nreturn [input[0] * 2]"))) == []
