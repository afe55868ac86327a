"""A size has one number, wherever a function, ``global``, a reference or a module reads it.

The name ``M_value`` stood for what a run binds although the text bound it to something else, or read it before: a
function was judged with one number and ran with another in Python. Python is the oracle here.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from stepcore.check import check_text
from stepcore.conversion.to_python import task_to_python
from stepcore.findings.diagnostics import Severity
from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import constant_bindings
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.fnvec import CompiledFn, FnEnv
from stepcore.text.span import Embedded
from test_module_changes import SIZES, imported, number, task

PYTHON = """\
import torch
import stepcore as step
from typing import Annotated
from stepcore.dims import M, N
{head}


@step.fn(input=step.f32, output=step.f32)
def times(input):
    return [input[0] * {read}]


def reference(E0: torch.Tensor) -> torch.Tensor:
    return E0 * {read}


@step.program(reference=reference, dims={dims})
def a(E0: Annotated[step.Stream, step.f32, (N, M)]) -> Annotated[step.Stream, step.f32, (N, M)]:
    return step.Map(fn=times).apply(E0)
"""
DIMS = "{M: 4, N: 7}"
# What a file binds and what its function reads: Python knows no other number.
MODULES = [
    ("M_value = 5", "M_value", DIMS), ("M_value = 5\nc = M_value\nM_value = 3", "c", "{M: M_value, N: 7}"),
    ("M_value = 3", "M_value", "{M: M_value + 1, N: 7}"), ("N_value = 6", "N_value", "{M: N_value, N: 7}"),
    ("M_value = 6\nc = M_value", "c", DIMS), ("M_value: int = 6", "M_value", DIMS), ("K_value = 3", "K_value", DIMS),
    ("M_value, N_value = 6, 3", "M_value", DIMS), ("for M_value in [6]:\n    pass", "M_value", DIMS),
    ("def M_value():\n    return 6", "M_value()", DIMS), ("if True:\n    M_value = 6", "M_value", DIMS),
    ("M_value = torch.tensor(6)", "M_value", DIMS), ("M_value = 6\ndef f():\n    return M_value", "f()", DIMS),
    ("M_value = [6]", "M_value[0]", DIMS), ("(M_value := 6)", "M_value", DIMS),
    ("M_value = 6\nM_value += 1", "M_value", DIMS), ("M_value = 4\nhalf = M_value // 2", "half", "{M: M_value, N: 7}"),
    ("D_value = 3\nM_value = 4", "D_value * M_value", "{M: M_value, N: 7}"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "read", "dims"), MODULES)
def test_what_a_module_binds_is_what_its_functions_read(head: str, read: str, dims: str, tmp_path: Path) -> None:
    text = PYTHON.format(head=head, read=read, dims=dims)
    found = [item for item in check_text(text, "a.py").diagnostics if item.severity is Severity.ERROR]
    assert not found, found
    module = read_module(text, "a.py")
    bindings = module.programs[0].spec.bindings()
    given = torch.randn(bindings["M"], bindings["N"])
    (result,) = CompiledFn(module.fns[0], FnEnv(module.fn_scope, bindings)).call(([given],), 2)
    expected = imported(text, tmp_path).reference(given)
    assert torch.equal(result, expected)


def test_a_run_at_other_sizes_binds_the_name_that_dims_name() -> None:
    text = PYTHON.format(head="M_value = 4\nhalf = M_value // 2", read="half", dims="{M: M_value, N: 7}")
    module = read_module(text, "a.py")
    names = FnEnv(module.fn_scope, module.programs[0].spec.bindings({"M": 8})).globals
    assert (names["M_value"], names["half"]) == (8, 4)


# Each has another number in the task than in the file that it would be converted to.
REFUSED = [
    "M_value = 3", "c = M_value\nctx[M] = 3", "c = M_value\nM_value = 3\nctx[M] = M_value", "(M_value := 3)",
    "ctx[E] = 4\nc = E_value\nctx[E] = 5", "ctx[E] = 4\nc = ctx[E]\nctx[E] = 5", "M_value, x = 3, 4",
    "def f():\n    return M_value\nc = f()\nctx[M] = 3", "x = [M_value for i in range(2)]\nctx[M] = 3",
    "def g():\n    return M_value\ndef f():\n    return g()\nc = f()\nctx[M] = 3", "for M_value in range(3):\n    pass",
    "E_value = 3\nctx[E] = E_value\nE_value = 9", "N_value = 2\nc = N_value\nN_value = 7",
    "M = N\nc = ctx[M]",
    "ctx[M] = 3\nN_value = 3\nctx[N] = N_value + M_value",
    "E_value = 7\nctx[E] = 4", "ctx[E] = 4\nE_value = 7",
    "def M_value():\n    return 3", "ctx[N] = M_value\nM_value = 3\nctx[M] = M_value", "ctx['E'] = 3",
    "K = 3\nctx[K] = 2",
    "if M_value == 5:\n    M_value = 3", "if K_value == 9:\n    c = M_value\nctx[M] = 3", "M_value += 1",
    "f = lambda x: M_value\nc = f(1)\nctx[M] = 3", "M_value = M_value + 1\nctx[M] = M_value",
]  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_a_number_that_differs_from_place_to_place_is_refused(code: str) -> None:
    text = task(code if "c = " in code else f"{code}\nc = 1")
    found = [item for item in check_text(text, "a.step.yaml").diagnostics if item.severity is Severity.ERROR]
    assert [item.code for item in found] == ["STEP302"], found
    assert "; " in found[0].message  # a way out


FINE = [
    "ctx[M] = 3\nc = M_value", "M_value = 3\nctx[M] = M_value\nc = M_value", "M_value = 3\nc = M_value\nctx[M] = 3",
    "ctx[M] = M_value + 1\nc = M_value", "c = [M_value for M_value in range(3)][1]",
    "E_value = 4\nhalf = E_value // 2\nE = Symbol('E')\nctx[E] = E_value\nc = half",
    "def f():\n    return M_value\nctx[M] = 3\nc = f()", "def f(M_value):\n    return M_value\nc = f(3)",
    "def f():\n    M_value = 3\n    return M_value\nc = f()", "ctx[E] = 3\nctx[D] = E_value * 2\nc = D_value",
    "Z_value = 3\nc = Z_value", "ctx[E] = 3\nE_value: int = 3\nc = E_value", "M = 3\nc = M", "c = M_value",
    "X = Symbol('M')\nctx[X] = 3\nc = M_value", "e = E\nctx[e] = 3\nc = E_value",
]  # fmt: skip


@pytest.mark.parametrize("code", FINE)
def test_a_number_that_is_the_same_everywhere_is_fine(code: str, tmp_path: Path) -> None:
    read = read_task(task(code), "a.step.yaml")
    assert read.spec is not None
    assert not [item for item in check_text(task(code), "a.step.yaml").diagnostics if item.severity is Severity.ERROR]
    assert number(read.spec.scope) == imported(task_to_python(read), tmp_path).c


# What is found without a run is what a run binds.
BINDINGS = {
    "def max(a, b):\n    return 3\nctx[E] = max(7, 9)": None, "max = lambda a, b: 3\nctx[E] = max(7, 9)": None,
    "ctx[M] = 3\nctx[E] = M_value": 3, "M_value = torch.tensor([2]).numel()\nctx[M] = M_value\nctx[E] = M_value": None,
    "ctx[E] = 4\nctx[E] = E_value + 1": 5, "ctx[E] = [4][0]\nctx[E] = 6\nctx[D] = E_value": 6,
}  # fmt: skip


@pytest.mark.parametrize("code", BINDINGS)
def test_sizes_that_are_found_without_a_run_are_those_of_a_run(code: str) -> None:
    block = CodeBlock(Embedded.whole(code))
    found = constant_bindings(block)
    assert found.get("E") == BINDINGS[code]
    read = read_task(task(f"{code}\nc = 1"), "a.step.yaml")
    assert read.spec is not None
    bound = FnEnv(read.spec.scope, SIZES).bindings
    assert {name: bound[name] for name in found} == found


def test_a_size_that_a_helper_binds_has_its_number() -> None:
    read = read_task(task("def f():\n    ctx[E] = 3\nf()\nc = E_value"), "a.step.yaml")
    assert read.spec is not None
    assert number(read.spec.scope) == 3
