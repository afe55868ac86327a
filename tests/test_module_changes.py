"""What ``global`` of a task binds and changes is what a module does with the same statements, and the other way round.

Element functions of a Python file are interpreted with those statements of the module that they need: whatever binds
or changes a value that they read, in arms and loops, by another name, through a view or by a helper.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import torch

from stepcore.check import check_text
from stepcore.conversion.to_python import ConvertError, task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.diagnostics import Severity
from stepcore.fn.decl import FnScope
from stepcore.fn.prelude import constant_bindings
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.fnvec.env import FnEnv

TASK = """\
global: |
{prelude}
inputs:
- {{name: E0, dtype: fp32, dims: [N, M], data_gen: torch.randn}}
fns:
- {{name: Times, func_name: times, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * c]"}}
outputs:
- name: S0
  dtype: fp32
  dims: [N, M]
  data_transform: ["input_data['E0'] * c"]
impl: |
  return step.Map(fn=times).apply(E0)
"""
SIZES = {"M": 5, "N": 7, "K": 9, "D": 16}
# Each gives ``c`` a number; many did so in a task and not in what ``convert`` makes of it, or the other way round.
CASES = {
    "if": ("if M_value == 5:\n    c = 2\nelse:\n    c = 3", 2),
    "else": ("if M_value != 5:\n    c = 2\nelse:\n    c = 3", 3),
    "if alone": ("c = 2\nif M_value == 5:\n    c = 4", 4),
    "elif": ("if M_value == 4:\n    c = 1\nelif N_value == 7:\n    c = 6\nelse:\n    c = 2", 6),
    "an if in an if": ("c = 1\nif M_value == 5:\n    if N_value == 7:\n        c = 4\n    else:\n        c = 2", 4),
    "if of a tensor": ("if torch.ones(2).sum() > 1:\n    c = 4\nelse:\n    c = 3", 4),
    "for": ("c = 0\nfor i in range(3):\n    c = c + i", 3),
    "the name of a loop": ("for c in range(4):\n    pass", 3),
    "else of a loop": ("for i in range(2):\n    pass\nelse:\n    c = 3", 3),
    "if in a loop": ("c = 0\nfor i in range(3):\n    if i == 1:\n        c = 7", 7),
    "an item as the name of a loop": ("l = [1, 2]\nfor l[0] in range(4):\n    pass\nc = l[0]", 3),
    "+=": ("c = 1\nc += 2", 3),
    "+= of an item": ("l = [1]\nl[0] += 2\nc = l[0]", 3),
    "+= of a list by another name": ("l = [1]\nk = l\nk += [3]\nc = l[-1]", 3),
    "+= of a tensor by another name": ("t = torch.zeros(3)\nu = t\nu += 3\nc = t[1]", 3),
    "an item": ("d = {}\nd['a'] = 3\nc = d['a']", 3),
    "an item in an if": ("d = {}\nif M_value == 5:\n    d['a'] = 3\nc = d['a']", 3),
    "an element": ("t = torch.zeros(3)\nif M_value == 5:\n    t[1] = 3\nc = t[1]", 3),
    "append": ("l = [1]\nl.append(4)\nc = l[1]", 4),
    "append in an if": ("l = [1]\nif M_value == 5:\n    l.append(4)\nc = l[-1]", 4),
    "append by another name": ("l = [1]\nk = l\nk.append(3)\nc = l[-1]", 3),
    "append inside of a list": ("l = [1]\nk = [l]\nk[0].append(3)\nc = l[-1]", 3),
    "append to an item": ("d = {'a': [1]}\nd['a'].append(3)\nc = d['a'][-1]", 3),
    "append by a method": ("l = [1]\na = l.append\na(3)\nc = l[-1]", 3),
    "append in a comprehension": ("l = [1]\n[l.append(i) for i in range(4)]\nc = l[-1]", 3),
    "append by a helper": ("l = [1]\ndef f(x):\n    x.append(3)\nf(l)\nc = l[-1]", 3),
    "append by a helper with a result": ("l = [1]\ndef f(x):\n    x.append(3)\n    return 1\nd = f(l)\nc = l[-1]", 3),
    "append by a lambda": ("l = [1]\nf = lambda: l.append(3)\nf()\nc = l[-1]", 3),
    "sort": ("l = [3, 1]\nl.sort()\nc = l[1]", 3),
    "a view": ("t = torch.zeros(3)\nu = t[1:]\nu[0] = 3\nc = t[1]", 3),
    "in place": ("t = torch.zeros(3)\nt.fill_(3)\nc = t[1]", 3),
    "in place in a view": ("t = torch.zeros(3)\nt.view(3, 1)[1].fill_(3)\nc = t[1]", 3),
    ":=": ("d = (c := 3) + 1", 3),
    ":= in a condition": ("c = 1\nif (c := 3) > 1:\n    d = 1", 3),
    ":= in a call": ("max((c := 3), 1)", 3),
    "one after the other": ("a = c = 3", 3),
    "a star": ("a, *b = [1, 2, 3]\nc = b[1]", 3),
    "unpacked": ("(a, (b, c)) = (1, (2, 3))", 3),
    "a helper in an if": ("if M_value == 5:\n    def f():\n        return 3\nelse:\n    f = None\nc = f()", 3),
    "a lambda in an if": ("if M_value == 5:\n    f = lambda x: 3\nelse:\n    f = lambda x: 4\nc = f(1)", 3),
    "a name for a module": ("import torch.nn.functional as F\nc = float(F.relu(torch.tensor(3.0)))", 3),
    "nothing": ("pass\nc = 3\nif M_value == 5:\n    pass", 3),
}  # fmt: skip


def task(prelude: str) -> str:
    return TASK.format(prelude="\n".join(f"  {line}" for line in prelude.splitlines()))


def number(scope: FnScope) -> float:
    return float(FnEnv(scope, SIZES).globals["c"])


def imported(text: str, folder: Path) -> Any:
    file = folder / "converted.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("converted", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("case", CASES)
def test_what_a_module_binds_is_what_global_binds(case: str, tmp_path: Path) -> None:
    prelude, value = CASES[case]
    read = read_task(task(prelude), "a.step.yaml")
    assert read.spec is not None
    assert number(read.spec.scope) == value
    text = task_to_python(read)
    converted = imported(text, tmp_path)
    assert float(converted.c) == value
    module = read_module(text, "a.py")
    assert number(module.fn_scope) == value
    again = read_task(python_to_task(module, module.programs[0]), "a.step.yaml")
    assert again.spec is not None
    assert number(again.spec.scope) == value
    given = torch.ones(5, 7)
    assert torch.equal(converted.a.apply(given), given * value)


@pytest.mark.parametrize(
    "statement",
    [
        "while c < 4:\n    c += 1",
        "try:\n    c = 4\nfinally:\n    pass",
        "with torch.no_grad():\n    c = 4",
        "match c:\n    case _:\n        c = 4",
    ],
)
def test_what_the_language_has_not_is_refused_in_both(statement: str) -> None:
    assert "STEP302" in {item.code for item in check_text(task(f"c = 3\n{statement}"), "a.step.yaml").diagnostics}
    text = task_to_python(read_task(task("c = 3"), "a.step.yaml")).replace("c = 3", f"c = 3\n{statement}")
    found = [item for item in check_text(text, "a.py").diagnostics if item.severity is Severity.ERROR]
    assert [item.code for item in found] == ["STEP302"], found


@pytest.mark.parametrize(
    "statement",
    [
        "print(c)",
        "if __name__ == '__main__':\n    c = 7",
        "assert c == 3",
        "while True:\n    d = 1\n    break",
        "try:\n    import numpy as np\nexcept ImportError:\n    np = None",
        "results = []\nresults.append(str(c))",
        "def main():\n    print(c)\nmain()",
    ],
)
def test_what_a_module_does_besides_is_its_own_affair(statement: str) -> None:
    text = task_to_python(read_task(task("c = 3"), "a.step.yaml")) + f"\n{statement}\n"
    assert [item for item in check_text(text, "a.py").diagnostics if item.severity is Severity.ERROR] == []
    assert number(read_module(text, "a.py").fn_scope) == 3


@pytest.mark.parametrize(
    "prelude",
    [
        "E = Symbol('E')\nE_value = 3\nE_value = E_value + 1\nctx[E] = E_value",
        "E = Symbol('E')\nE_value = 3\nE_value += 1\nctx[E] = E_value",
        "E = Symbol('E')\nif M_value == 5:\n    E_value = 3\nelse:\n    E_value = 4\nctx[E] = E_value",
        "E = Symbol('E')\nE_value = 3\nif M_value == 5:\n    ctx[E] = E_value",
        "E = Symbol('E')\nctx[E] = (E_value := 4)",
        "E = Symbol('E')\nctx[E], d = 4, 5",
        "if M_value == 5:\n    E = Symbol('E')\nE_value = 3\nctx[E] = E_value",
        "ctx[M] += 1",
    ],
)
def test_a_size_that_is_bound_inside_of_something_is_refused_by_convert(prelude: str) -> None:
    with pytest.raises(ConvertError, match=r"in a line of its own|in lines of their own"):
        task_to_python(read_task(task(f"{prelude}\nc = 3"), "a.step.yaml"))


@pytest.mark.parametrize(
    ("prelude", "size"),
    [
        ("E_value = 3\nif M_value == 5:\n    E_value = 4\nctx[E] = E_value", 4),
        ("if M_value > 5:\n    E_value = 3\nelse:\n    E_value = 4\nctx[E] = E_value", 4),
        ("if M_value == 5:\n    ctx[E] = 6", 6),
        ("ctx[E] = (E_value := 4)", 4),
        ("E_value = 3\nd = (E_value := 4) + 1\nctx[E] = E_value", 4),
    ],
)
def test_checking_knows_the_sizes_that_a_run_binds(prelude: str, size: int) -> None:
    read = read_task(task(f"E = Symbol('E')\n{prelude}\nc = 3"), "a.step.yaml")
    assert read.spec is not None
    assert constant_bindings(read.spec.scope.prelude)["E"] == size
    assert FnEnv(read.spec.scope, SIZES).bindings["E"] == size


@pytest.mark.parametrize(
    "prelude",
    [
        "E_value = 3\nfor i in range(2):\n    E_value = i + 4\nctx[E] = E_value",
        "E_value = 3\nif torch.ones(2).sum() > 1:\n    E_value = 4\nctx[E] = E_value",
        "E_value = 3\nd = [(E_value := i) for i in (1, 2)]\nctx[E] = E_value",
    ],
)
def test_checking_takes_no_size_for_another_than_a_run_binds(prelude: str) -> None:
    read = read_task(task(f"E = Symbol('E')\n{prelude}\nc = 3"), "a.step.yaml")
    assert read.spec is not None
    assert "E" not in constant_bindings(read.spec.scope.prelude)
