"""Where the number of a size decides what a program is, ``check`` finds what a run at other sizes would refuse."""

from __future__ import annotations

import pytest

from stepcore.check import check_text
from stepcore.check.programs import ImplChecker
from stepcore.check.sizes import MAX_TRIED
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.yaml.tasks import read_task

TASK = """\
inputs:
- {name: E0, dtype: fp32, dims: [K, N]}
fns:
- name: Add
  func_name: fn_add
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [state[0] + input[0]]
- name: Same
  func_name: fn_same
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0]]
outputs:
- {name: S0, dtype: fp32, dims: [N]}
"""
SUM = "step.Accum(fn=fn_add, b={}).apply(E0)"
# Right at M=5 alone, or at a few sizes more; each lets another form of the language decide.
WRONG = {
    "statement": f"if M_value == 5:\n    A = {SUM.format(1)}\nelse:\n    A = E0\nreturn A",
    "expression": f"return {SUM.format(1)} if M_value == 5 else E0",
    "argument": f"return {SUM.format('1 if M_value == 5 else 0')}",
    "argument of a sum": f"return {SUM.format('2 - (1 if M_value == 5 else 0)')}",
    "of an input": f"return {SUM.format('1 if E0.ctx[M] == 5 else 2')}",
    "table": f"return {SUM.format('2 if ctx[M] % 5 else 1')}",
    "length": f"return {SUM.format('1 if len(range(M_value)) == 5 else 0')}",
    "length of a list": f"return {SUM.format('len([0] * M_value) - 4')}",
    "index": f"return {SUM.format('[1, 2][min(M_value - 5, 1)]')}",
    "index by name": f"x = M_value - 5\nreturn {SUM.format('[1, 2][min(x, 1)]')}",
    "index of streams": f"return [{SUM.format(1)}, E0][min(abs(M_value - 5), 1)]",
    "number": f"return {SUM.format('M_value - 4')}",
    "number by name": f"depth = M_value\ndepth -= 4\nreturn {SUM.format('depth')}",
    "largest": f"return {SUM.format('max(M_value - 4, 1)')}",
    "smallest": f"return {SUM.format('min(6 - M_value, 1)')}",
    "remainder": f"return {SUM.format('M_value % 4')}",
    "truth": f"return {SUM.format('(M_value == 5) + 0')}",
    "truth of a choice": f"return {SUM.format('M_value - 5 or 1')}",
    "slice": "A = E0\nfor b in [1, 1, 1][: M_value - 4]:\n    A = step.Accum(fn=fn_add, b=b).apply(A)\nreturn A",
    "rounds": "A = E0\nfor i in range(M_value - 4):\n    A = step.Accum(fn=fn_add, b=1).apply(A)\nreturn A",
    "filter": f"return {SUM.format('len([i for i in range(9) if i < M_value]) - 4')}",
    "key": f"return {SUM.format('{5: 1, 6: 2}[M_value]')}",
    "helper": f"def depth(m):\n    return m - 4\nreturn {SUM.format('depth(M_value)')}",
    "chosen by truth": f"return {SUM.format('{True: 1, False: 2}[M_value == 5]')}",
    "truth of parts": f"return {SUM.format('M_value == 5 and 1 or 2')}",
    "chain": f"return {SUM.format('1 if 4 < M_value < 6 else 2')}",
    "text": "return " + SUM.format("1 if f'{M_value}' == '5' else 2"),
    "member": f"return {SUM.format('1 if M_value in (5, 7) else 2')}",
    "total": f"return {SUM.format('sum([M_value, -4])')}",
    "walrus": f"return {SUM.format('1 if (m := M_value - 4) == 1 else m')}",
    "a far size": f"return {SUM.format('[1, 2][M_value // 777]')}",
}
# The number decides nothing, or nothing that matters, wherever the sizes lie.
RIGHT = {
    "no number": f"return {SUM.format(1)}",
    "a size": f"A = step.Repeat(n=M_value).apply({SUM.format(1)})\nreturn step.Accum(fn=fn_add, b=1).apply(A)",
    "a size of the table": f"A = step.Repeat(n=2 * ctx[M]).apply({SUM.format(1)})\n"
    "return step.Accum(fn=fn_add, b=1).apply(A)",
    "a size by name": f"n = 2 * M_value\nm = n + 1\nA = step.Repeat(n=m).apply({SUM.format(1)})\n"
    "return step.Accum(fn=fn_add, b=1).apply(A)",
    "choices alike": f"return {SUM.format('[1, 1][min(M_value, 1)]')}",
    "rounds alike": f"A = {SUM.format(1)}\nfor i in range(M_value):\n    A = step.Map(fn=fn_same).apply(A)\nreturn A",
    "arms alike": f"A = {SUM.format(1)}\nif M_value != 5:\n    A = step.Map(fn=fn_same).apply(A)\nreturn A",
}


def task(body: str) -> str:
    return TASK + "impl: |\n" + "".join(f"  {line}\n" for line in body.split("\n"))


def errors(body: str) -> list[tuple[str, str]]:
    items = check_text(task(body), "a.step.yaml").diagnostics
    return [(item.code, item.message) for item in items if item.severity is Severity.ERROR]


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_what_other_sizes_refuse_is_found(body: str) -> None:
    found = errors(body)
    assert found, body
    for _, message in found:
        head = message.partition("\n")[0]
        assert head.endswith(")") and " (at M=" in head, message
    size = int(found[0][1].partition("\n")[0].rpartition("(at M=")[2].split(",")[0].rstrip(")"))
    read = read_task(task(body), "a.step.yaml")
    assert read.impl is not None
    there = ImplChecker(read, {"M": size}).check(read.impl.source)
    assert found[0][0] in {item.code for item in there.diagnostics}


PYTHON = """\
import torch
import stepcore as step
from stepcore.dims import K, M, N
from typing import Annotated

@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]

def total(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)

@step.program(reference=total, dims={{M: 5, K: 3, N: 7}})
def p(E0: Annotated[step.Stream, step.f32, (K, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
    return step.Accum(fn=add, b={}).apply(E0)
"""


@pytest.mark.parametrize(
    "number",
    [
        "1 if E0.ctx[M] == 5 else 2",
        "[1, 2][min(E0.ctx[M] - 5, 1)]",
        "1 if E0.ctx[N] - E0.ctx[M] == 2 else 2",
        "[1, 1, 1, 2][E0.ctx[N] - 5]",
    ],
)
def test_python_files_too(number: str) -> None:
    assert [item.code for item in check_text(PYTHON.format(1), "a.py").diagnostics] == []
    found = check_text(PYTHON.format(number), "a.py").diagnostics
    assert found and all("(at " in item.message for item in found), found


GLOBAL = "global: |\n  E = Symbol('E')\n  E_value = {}\n  ctx[E] = E_value\n"


@pytest.mark.parametrize(
    ("computed", "number", "is_right"),
    [
        ("2 * M_value", "E_value // M_value - 1", True),
        ("2 * M_value", "1 if E_value == 2 * M_value else 2", True),
        ("M_value - 4", "min(E_value, 1)", True),  # no size at M=4
        ("M_value - 3", "E_value - 1", False),
        ("2 * M_value", "[1, 2][min(abs(E_value - 10), 1)]", False),
        ("2 * M_value", "1 if E_value == 10 else 2", False),
        ("10", "1 if E_value == 10 else 2", True),
    ],
)
def test_what_the_file_computes_from_sizes_follows_them(computed: str, number: str, is_right: bool) -> None:
    body = f"return {SUM.format(number)}"
    found = check_text(GLOBAL.format(computed) + task(body), "a.step.yaml").diagnostics
    assert (found == []) is is_right, found


def test_what_is_not_followed_to_its_end_says_nothing() -> None:
    body = f"A = {SUM.format(1)}\nfor i in range(M_value ** 4):\n    A = step.Map(fn=fn_same).apply(A)\nreturn A"
    assert errors(body) == []


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_right_everywhere_has_no_findings(body: str) -> None:
    assert check_text(task(body), "a.step.yaml").diagnostics == []


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_a_fix_for_other_sizes_does_not_change_the_bound_ones(body: str) -> None:
    assert all(item.fix is None for item in check_text(task(body), "a.step.yaml").diagnostics)


def elaborations(body: str, monkeypatch: pytest.MonkeyPatch) -> int:
    runs: list[Elaborator] = []
    whole = Elaborator.run

    def run(el: Elaborator, *rest: object) -> None:
        runs.append(el)
        whole(el, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Elaborator, "run", run)
    check_text(task(body), "a.step.yaml")
    return len(runs)


@pytest.mark.parametrize("name", ["no number", "a size", "a size of the table", "a size by name"])
def test_a_program_without_such_conditions_is_elaborated_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert elaborations(RIGHT[name], monkeypatch) == 1


@pytest.mark.parametrize("name", ["choices alike", "rounds alike"])
def test_others_are_elaborated_a_bounded_number_of_times(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert 1 < elaborations(RIGHT[name], monkeypatch) <= 2 * MAX_TRIED
