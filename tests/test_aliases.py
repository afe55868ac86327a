"""Names of modules in tasks: the usual spellings mean what they say, and an import is never executed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate_cases import placed, task
from soak_generated import _verified
from stepcore.check import check_text
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.gate import certify

SPELLINGS = [
    "F = torch.nn.functional",
    "import torch.nn.functional as F",
    "from torch.nn import functional as F",
    "import torch\nfrom torch import nn\nF = nn.functional",
    "import torch, torch.nn as nn\nimport torch.nn.functional as F",
    "import torch.nn.functional\nG = torch.nn.functional\nF = G",
]
FUNCTIONS = [
    "F.relu({x})",
    "F.gelu({x})",
    "F.silu({x})",
    "F.softplus({x})",
    "F.leaky_relu({x}, 0.1)",
    "F.elu({x})",
    "F.softmax({x}, dim=-1)",
    "F.normalize({x}, dim=-1)",
    "F.dropout({x}, training=False)",
    "F.pad(F.hardtanh({x}), (0, 0))",
    "F.layer_norm({x}, {x}.shape[-1:])",
    "F.logsigmoid({x})",
]
BLOCKS = {"apply": "return [{}]", "data_transform": "{}"}
TASK = """\
test_name: named
{prelude}
inputs:
- {{name: E0, dtype: "Buffer(fp32, [N])", dims: [M]}}
fns:
- name: fn_a
  func_name: fn_a
  input_dtype: "Buffer(fp32, [N])"
  output_dtype: "Buffer(fp32, [N])"
  apply: |
{apply}
outputs:
- name: S0
  dtype: "Buffer(fp32, [N])"
  dims: [M]
  data_transform:
  - |
{reference}
impl: |
  return step.Map(fn=fn_a).apply(E0)
"""


def named(shared: str, apply: list[str], reference: list[str]) -> str:
    """Return a task of which a function and its reference have these lines."""
    prelude = "".join(f"  {line}\n" for line in shared.splitlines())
    return TASK.format(
        prelude=f"global: |\n{prelude}" if shared else "",
        apply="\n".join(f"    {line}" for line in apply),
        reference="\n".join(f"    {line}" for line in reference),
    )


def errors(text: str, path: str = "named.step.yaml") -> list[str]:
    found = check_text(text, path, with_fixes=False).diagnostics
    return [f"{item.code} {item.message}" for item in found if item.severity is Severity.ERROR]


def holds(text: str, folder: Path) -> str:
    """Check, verify and convert a task; the file is certified, reads back equal, and is verified as well."""
    assert errors(text) == []
    path = folder / "named.step.yaml"
    path.write_text(text, encoding="utf-8")
    _verified(path)
    python = task_to_python(read_task(text, "named.step.yaml"))
    certify(python)
    file = folder / "named.py"
    file.write_text(python, encoding="utf-8")
    _verified(file)
    module = read_module(python, "named.py")
    again = python_to_task(module, module.programs[0])
    assert errors(again) == []
    assert task_to_python(read_task(again, "named.step.yaml")) == python
    return python


@pytest.mark.parametrize("shared", SPELLINGS)
def test_a_name_in_global_holds_in_functions_and_references(shared: str, tmp_path: Path) -> None:
    text = named(shared, ["return [F.softplus(input[0])]"], ["F.softplus(input_data['E0'])"])
    python = holds(text, tmp_path)
    assert python.count("torch.nn.functional.softplus(") == 2
    assert "as F" not in python and "F =" not in python


@pytest.mark.parametrize("local", SPELLINGS)
def test_a_name_in_a_body_holds_in_that_body(local: str, tmp_path: Path) -> None:
    lines = local.splitlines()
    text = named("", [*lines, "return [F.gelu(input[0])]"], [*lines, "F.gelu(input_data['E0'])"])
    assert holds(text, tmp_path).count("torch.nn.functional.gelu(") == 2
    (found,) = errors(named("", [*lines, "return [F.gelu(input[0])]"], ["F.softplus(input_data['E0'])"]))
    assert found.startswith("STEP303 unknown name 'F'")


@pytest.mark.parametrize("call", FUNCTIONS)
def test_usual_functions_by_their_usual_name(call: str, tmp_path: Path) -> None:
    made, wanted = call.format(x="input[0]"), call.format(x="input_data['E0']")
    holds(named("import torch.nn.functional as F", [f"return [{made}]"], [wanted]), tmp_path)


def test_other_modules_have_names_too(tmp_path: Path) -> None:
    shared = "import math\nimport torch.linalg as LA\nfrom torch import special\nroot = math.sqrt(2.0)"
    made = "special.expit({x}) * root * math.pi + LA.vector_norm({x}, dim=-1, keepdim=True)"
    text = named(shared, [f"return [{made.format(x='input[0]')}]"], [made.format(x="input_data['E0']")])
    python = holds(text, tmp_path)
    assert python.startswith("import math\n")
    assert "torch.linalg.vector_norm(" in python and "torch.special.expit(" in python


def test_a_helper_of_global_uses_a_name(tmp_path: Path) -> None:
    shared = "import torch.nn.functional as F\ndef act(x):\n    return F.silu(x) * 2\nlayer = F.gelu"
    text = named(shared, ["return [act(layer(input[0]))]"], ["act(layer(input_data['E0']))"])
    holds(text, tmp_path)


def test_shapes_are_known_behind_a_name() -> None:
    for shared, local in (("F = torch.nn.functional", []), ("", ["import torch.nn.functional as F"])):
        text = named(shared, [*local, "return [F.softmax(input[0].sum(), dim=-1)]"], ["input_data['E0']"])
        assert [item[:7] for item in errors(text)] == ["STEP306"]


def test_what_may_write_or_draw_is_refused_behind_a_name() -> None:
    shared = "import torch.nn.functional as F"
    for call in ("F.relu(input[0], True)", "F.threshold(input[0], 1e9, 0.0, True)", "F.dropout(input[0])"):
        (found,) = errors(named(shared, [f"return [{call}]"], ["input_data['E0']"]))
        assert found.startswith(("STEP310", "STEP304")), found


HOSTILE = [
    ("import os as F", "STEP302 import of os is forbidden"),
    ("import builtins as F", "STEP302 import of builtins is forbidden"),
    ("import torch.nn.functional as F, os", "STEP302 import of os is forbidden"),
    ("import torch.utils.data as F", "STEP302 import of torch.utils.data is forbidden"),
    ("import torch.ops as F", "STEP302 import of torch.ops is forbidden"),
    ("from torch import load", "STEP302 import is forbidden"),
    ("from torch.nn.functional import relu", "STEP302 import is forbidden"),
    ("from torch.nn import *", "STEP302 import is forbidden"),
    ("from . import functional as F", "STEP302 import is forbidden"),
    ("F = os", "STEP303 unknown name 'os'"),
    ("F = torch.os", "STEP304 torch.os is not part"),
    ("F = torch.nn.functional.torch", "STEP304 torch.nn.functional.torch is not part"),
    ("F = torch.nn\nx = F.functional.torch", "STEP304 F.functional.torch is not part"),
    ("F = torch.nn.functional\nx = F.__builtins__", "STEP302 the attribute '__builtins__' is private"),
    ("F = torch.nn.functional\nx = F.handle_torch_function", "STEP304 F.handle_torch_function is not part"),
    ("import torch as math", "STEP302 math is the name of another module"),
    ("import math as torch", "STEP302 torch is the name of another module"),
    ("torch = torch.nn", "STEP302 torch is the name of another module"),
    ("import torch as os", "STEP302 os is the name of another module"),
    ("os = torch.nn.functional", "STEP302 os is the name of another module"),
    ("import torch as __builtins__", "STEP302 __builtins__ has a meaning of its own"),
    ("import torch.nn as step", "STEP302 step has a meaning of its own"),
    ("import torch.nn as input_data", "STEP302 input_data has a meaning of its own"),
    ("import torch.nn as len", "STEP302 len has a meaning of its own"),
    ("import torch.nn as M", "STEP302 M has another meaning"),
    ("import torch.nn as M_value", "STEP302 M_value has another meaning"),
    ("import torch.nn as E0", "STEP302 E0 has another meaning"),
    ("F = torch.nn.functional\nF = 3", "STEP302 F stands for torch.nn.functional and cannot be bound anew"),
    ("F = 3\nF = torch.nn.functional", "STEP302 F stands for torch.nn.functional and cannot be bound anew"),
    ("F = torch.nn.functional\nF = torch.nn", "STEP302 F stands for torch.nn.functional already"),
    ("F = torch.nn.functional\nF += 1", "STEP302 F stands for torch.nn.functional and cannot be bound anew"),
    ("F = torch.nn.functional\nfor F in [1]:\n    pass", "STEP302 F stands for torch.nn.functional and"),
    ("F = torch.nn.functional\nx = [F for F in [1]]", "STEP302 F stands for torch.nn.functional and"),
    ("F = torch.nn.functional\nx = (F := 1)", "STEP302 F stands for torch.nn.functional and"),
    ("F = torch.nn.functional\ndef F(x):\n    return x", "STEP302 F stands for torch.nn.functional and"),
    ("F = torch.nn.functional\nx = [F]", "STEP302 torch.nn.functional is a module, and no value"),
    ("F = torch.nn.functional\nx = max(F, 3)", "STEP302 torch.nn.functional is a module, and no value"),
    ("F = torch.nn.functional\nx = {1: F}", "STEP302 torch.nn.functional is a module, and no value"),
    ("x, F = 1, torch.nn.functional", "STEP302 torch.nn.functional is a module, and no value"),
    ("F = G = torch.nn.functional", "STEP302 torch.nn.functional is a module, and no value"),
    ("F = torch.nn if M_value else torch.linalg", "STEP302 torch.nn is a module, and no value"),
    ("x = F.relu\nF = torch.nn.functional", "STEP303 F stands for torch.nn.functional only further down"),
    ("if True:\n    import torch.nn.functional as F", "STEP302 import of torch.nn.functional stands at the beginning"),
    ("def h(x):\n    import torch.nn as F\n    return x", "STEP302 import of torch.nn stands at the beginning"),
    ("if True:\n    F = torch.nn.functional", "STEP302 torch.nn.functional is a module, and no value"),
]


@pytest.mark.parametrize("place", ["global", "apply", "data_transform"])
@pytest.mark.parametrize(("code", "message"), HOSTILE)
def test_what_a_name_must_not_stand_for(place: str, code: str, message: str) -> None:
    found = errors(placed(place, code), "gated.step.yaml")
    assert found and found[0].startswith(message), found


def test_a_name_of_global_stays_what_it_is_in_bodies() -> None:
    shared = "F = torch.nn.functional"
    for code in ("F = 3", "import torch.nn as F", "for F in [1]:\n    pass"):
        for place in ("apply", "data_transform"):
            (found,) = errors(task(global_=shared, **{place: code}), "gated.step.yaml")
            assert found.startswith("STEP302 F stands for torch.nn.functional"), found


def test_a_reference_does_not_end_with_a_module() -> None:
    for line in ("F = torch.nn.functional", "import math"):
        (found,) = errors(named("", ["return [input[0]]"], [line]))
        assert found.startswith("STEP307 the last line of this block gives a module a name"), found


def test_a_program_may_call_a_stream_as_global_calls_a_module() -> None:
    text = task(global_="F = torch.nn.functional", impl="F = step.Map(fn=fn_a).apply(E0)\nreturn F")
    assert errors(text, "gated.step.yaml") == []
    assert "    F = step.Map(fn=fn_a).apply(E0)\n" in task_to_python(read_task(text, "gated.step.yaml"))
