"""What people write by habit: it means what it means in Python, or is refused by one message with a way out."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from stepcore.check.files import check_text
from stepcore.fn import allow
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.frontend.python import read_module
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import FnRuntimeError
from stepcore.text.span import Embedded
from test_early_names import in_program, with_reference
from test_faults import PYTHON
from test_function_semantics import executed, interpreted
from test_program_semantics import elaborated, plain
from test_program_semantics import executed as run_program
from test_purity import codes, with_body, with_global

# Each in a program: the code of the one finding, and what its message has to hold.
IN_PROGRAMS = {
    "F = torch.nn.functional": ("STEP220", "F would stand for torch.nn.functional", "in global"),
    "F = math": ("STEP220", "F would stand for math", "in global"),
    "import torch": ("STEP220", "`import`", "in global"),
    "import torch.nn.functional as F": ("STEP220", "`import`", "in global"),
    "from torch.nn import functional as F": ("STEP220", "`import`", "in global"),
    "import numpy": ("STEP220", "`import`", "remove the line"),
    "x = list(map(len, [[1]]))": ("STEP220", "map of Python", "[f(x) for x in xs]"),
    "x = [y for y in filter(None, [1])]": ("STEP220", "filter of Python", "[x for x in xs if f(x)]"),
    "x = 1\ndel x": ("STEP220", "`del`", "remove the line"),
    "xs = [1]\ndel xs[0]": ("STEP220", "`del`", "xs.pop(0)"),
    "xs = [1]\nxs.sort()": ("STEP224", "has no attribute sort", "in their order"),
    "d = {1: 2}\nx = d.get(1)": ("STEP224", "has no attribute get", "d[KEY]"),
    "d = {1: 2}\nd.update({3: 4})": ("STEP224", "has no attribute update", "{**d, KEY: VALUE}"),
    "xs = [1]\nxs.remove(2)": ("STEP224", "no such item", "one that is there"),
    "xs = [1]\nx = xs.index(2)": ("STEP224", "no such item", "one that is there"),
    "xs = [1]\nxs.append(item=2)": ("STEP224", "takes no names", "leave the name out"),
    "xs = [fn_f]\nxs.remove(fn_f)": ("STEP224", "compares", "the position itself"),
    "xs = [1]\nys = xs\nx = f'{ys}'": ("STEP224", "not written into a text", "numbers, sizes and texts"),
}


@pytest.mark.parametrize("code", IN_PROGRAMS)
def test_programs_say_one_thing_about_it(code: str) -> None:
    (found,) = check_text(in_program(code), "case.step.yaml").diagnostics
    expected, *words = IN_PROGRAMS[code]
    assert found.code == expected
    assert all(word in found.message for word in words)


@pytest.mark.parametrize("line", ["import torch", "import math", "import stepcore"])
def test_imports_in_programs_of_python_files_belong_to_the_top(line: str) -> None:
    text = PYTHON.replace("    return step.Map", f"    {line}\n    return step.Map")
    assert text != PYTHON
    (found,) = check_text(text, "case.step.py").diagnostics
    assert "at the top of the file" in found.message


LISTS = [
    "a = [1, 2, 1]\nb = a\na.remove(1)", "a = [1, 2]\nb = a\na.clear()",
    "a = [1, 2, 1]\nb = a.count(1)\nc = a.count(3)",
    "a = [3, 4]\nb = a.index(4)", "a = [[1], [2]]\na.remove([2])", "a = [1, 2, 3, 4]\nfor x in a:\n  a.remove(x)",
    "a = [1, 2, 3]\nfor x in a:\n  if x == 2:\n    a.clear()", "a = ['x', 1, None]\na.remove(None)\nb = a.index(1)",
    "a = [1.0, True]\na.remove(1)", "a = [(1, 2), (1,)]\nb = a.index((1,))",
]  # fmt: skip


@pytest.mark.parametrize("code", LISTS)
def test_lists_change_as_in_python(code: str) -> None:
    found, values = elaborated(code)
    expected = run_program(code)
    assert not found
    assert {name: plain(values[name]) for name in expected} == {name: plain(value) for name, value in expected.items()}
    inner, names = interpreted(code), executed(code)
    assert [inner[name] for name in "abc" if name in names] == [names[name] for name in "abc" if name in names]


IN_FUNCTIONS = {
    "x = list(map(len, [[1]]))": ("STEP303", "map of Python", "[f(x) for x in xs]"),
    "x = [y for y in filter(None, [1])]": ("STEP303", "filter of Python", "[x for x in xs if f(x)]"),
    "x = 1\ndel x": ("STEP302", "del", "remove it"),
    "xs = [1]\ndel xs[0]": ("STEP302", "del", "xs.pop(0)"),
    "d = {}\nd.update({1: 2})": ("STEP304", ".update", "d[KEY] = VALUE"),
    "xs = [1]\nys = xs\nx = f'{ys}'": ("STEP302", "ys is a list", "numbers and texts"),
    "xs = [1]\nxs.append(2)\nx = f'{xs}'": ("STEP302", "xs is a list", "numbers and texts"),
    "x = str((1, 2))": ("STEP302", "(1, 2) is a list, tuple", "numbers and texts"),
    "d = {'a': 1}\nx = f'{d}'": ("STEP302", "d is a list, tuple or dictionary", "numbers and texts"),
    "d = {a: 1 for a in [1, 2]}\nx = str(d)": ("STEP302", "d is a list, tuple or dictionary", "numbers and texts"),
}


@pytest.mark.parametrize("code", IN_FUNCTIONS)
def test_functions_and_references_say_one_thing_about_it(code: str) -> None:
    expected, *words = IN_FUNCTIONS[code]
    body, reference = f"{code}\nreturn [input[0] * 2]", f"{code}\ninput_data['E0'] * 2"
    for text in (with_body(body), with_reference(reference), with_global(code)):
        (found,) = check_text(text, "case.step.yaml").diagnostics
        assert found.code == expected
        assert all(word in found.message for word in words)


def test_the_components_of_an_element_are_no_text() -> None:
    assert codes(with_body("x = f'{input}'\nreturn [input[0] * 2]")) == ["STEP302"]
    assert codes(with_body("x = f'{len(input)}'\nreturn [input[0] * 2]")) == []


@pytest.mark.parametrize("call", ["eval()", "train(False)"])
def test_modules_are_as_they_are_made(call: str) -> None:
    (found,) = check_text(with_global(f"m = torch.nn.Linear(1, 1)\nm.{call}"), "case.step.yaml").diagnostics
    assert (found.code, "leave it out" in found.message) == ("STEP304", True)


def test_no_module_that_there_is_depends_on_training() -> None:
    """So that ``.eval()`` may be left out: those that do draw, or keep statistics."""
    for name in sorted(allow.MODULES):
        assert not name.startswith(("Dropout", "AlphaDropout", "FeatureAlphaDropout", "RReLU")), name
    for name in ("BatchNorm1d", "BatchNorm2d", "InstanceNorm1d"):
        made = getattr(torch.nn, name)(3, track_running_stats=False)
        x = torch.randn(2, 3, 4, 4)[..., : 4 if name.endswith("2d") else 1].squeeze(-1)
        assert torch.equal(made(x), made.eval()(x))


RESULTS: dict[str, Any] = {
    "torch.linalg.slogdet(x)": ("sign", "logabsdet"), "torch.linalg.svd(x)": ("U", "S", "Vh"),
    "torch.linalg.qr(x)": ("Q", "R"), "torch.linalg.eigh(x)": ("eigenvalues", "eigenvectors"),
    "torch.linalg.lstsq(x, x)": ("solution", "residuals", "rank", "singular_values"),
    "torch.linalg.lu(x)": ("P", "L", "U"), "torch.linalg.inv_ex(x)": ("inverse", "info"),
    "torch.linalg.solve_ex(x, x)": ("result", "info"), "torch.linalg.lu_factor(x)": ("LU", "pivots"),
    "torch.linalg.cholesky_ex(x)": ("L", "info"), "torch.frexp(x)": ("mantissa", "exponent"),
    "torch.topk(x, 1)": ("values", "indices"), "torch.aminmax(x)": ("min", "max"), "x.slogdet()": ("sign", "logabsdet"),
}  # fmt: skip


@pytest.mark.parametrize("call", RESULTS)
def test_results_have_the_fields_that_torch_gives_them(call: str) -> None:
    text = "x = torch.eye(3) * 2 + 0.5\n" + "".join(f"a{i} = {call}.{name}\n" for i, name in enumerate(RESULTS[call]))
    assert codes(with_global(text)) == []
    found = FnEnv(FnScope(prelude=CodeBlock(Embedded.whole(text))), {}, {}, torch.float32).globals
    expected: dict[str, Any] = {"torch": torch}
    exec(text, expected)
    for name in (f"a{i}" for i in range(len(RESULTS[call]))):
        torch.testing.assert_close(found[name], expected[name])


def test_all_fields_of_results_are_known() -> None:
    for name in dir(torch.return_types):
        fields = getattr(getattr(torch.return_types, name), "__match_args__", ())
        is_linalg = name.startswith("linalg_") and name.removeprefix("linalg_") in allow.NAMESPACES["torch.linalg"][0]
        if name in allow.TORCH_FUNCTIONS or name in allow.TENSOR_METHODS or is_linalg:
            assert fields
            assert set(fields) <= allow.RESULT_FIELDS


def test_what_is_no_such_result_has_none() -> None:
    (found,) = check_text(with_body("x = input[0].S\nreturn [x * 2]"), "case.step.yaml").diagnostics
    assert (found.code, "a tensor has no .S" in found.message) == ("STEP304", True)
    with pytest.raises(FnRuntimeError, match="not part of the function language"):
        interpreted("a = [1].indices")


def test_a_python_file_changes_its_lists_before_its_functions_read_them() -> None:
    head = "import stepcore as step\nimport torch\nz = [1, 2]\nz.{}\n"
    body = "@step.fn(input=step.f32, output=step.f32)\ndef f(input):\n    return [input[0] * len(z)]\n"
    for change, count in (("clear()", 0), ("remove(1)", 1)):
        prelude = read_module(head.format(change) + body, "a.py").fn_scope.prelude
        assert prelude is not None
        assert len(FnEnv(FnScope(prelude=prelude), {}, {}, torch.float32).globals["z"]) == count


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ('"rows"', []),
        ("None", []),
        ("1", ["STEP224"]),
        ("[0] * 10 ** 11", ["STEP221"]),
        ("[0]", ["STEP224"]),
        ("unheard_of", ["STEP202"]),
    ],
)
def test_the_name_of_a_result_is_a_text(name: str, expected: list[str]) -> None:
    text = PYTHON.replace(".apply(E0)", f".apply(E0, name={name})")
    assert text != PYTHON
    assert [found.code for found in check_text(text, "case.step.py").diagnostics] == expected
