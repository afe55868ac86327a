"""A task and a Python file of which each place takes further code, and foreign expressions to put there."""

from __future__ import annotations

from textwrap import indent
from typing import Final

# Without a harmful effect, and found where it is printed.
FOREIGN: Final = ("__import__('os').system('true FOREIGN')", "open('FOREIGN', 'w')")
PLACES: Final = ("apply", "global", "data_transform", "impl", "arm", "helper", "nested")
_TASK: Final = """\
test_name: gated
global: |
{global_}
inputs:
- {{name: E0, dtype: fp32, dims: [M, N]}}
fns:
- name: fn_a
  func_name: fn_a
  input_dtype: fp32
  output_dtype: fp32
  apply: |
{apply}
outputs:
- name: S0
  dtype: fp32
  dims: [M, N]
  data_transform:
  - |
{data_transform}
impl: |
{impl}
"""
_PYTHON: Final = """\
from typing import Annotated

import stepcore as step
import torch
from stepcore.dims import M, N

scale = 2.0


@step.fn(input=step.f32, output=step.f32)
def fn_a(input):
{apply}


def gated_reference(E0: torch.Tensor) -> torch.Tensor:
    return E0 * scale


@step.program(reference=gated_reference, dims={{M: 5, N: 7}})
def gated(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
{impl}
"""
_NESTED: Final = "@step.fn(input=step.f32, output=step.f32)\ndef fn_b(input):\n{}\n    return [input[0]]\n"


def task(**code: str) -> str:
    """Return the task with the code of ``global_``, ``apply``, ``data_transform`` and ``impl`` before its own."""
    own = {
        "global_": ("scale = 2.0", 2),
        "apply": ("return [input[0] * scale]", 4),
        "data_transform": ("input_data['E0'] * scale", 4),
        "impl": ("E1 = step.Map(fn=fn_a).apply(E0)\nreturn E1", 2),
    }
    return _TASK.format(**{key: _before(code.get(key, ""), text, margin) for key, (text, margin) in own.items()})


def python(**code: str) -> str:
    """Return the Python file with code of ``apply`` and ``impl`` before its own."""
    own = {
        "apply": ("return [input[0] * scale]", 4),
        "impl": ("E1 = step.Map(fn=fn_a).apply(E0)\nreturn E1", 4),
    }
    return _PYTHON.format(**{key: _before(code.get(key, ""), text, margin) for key, (text, margin) in own.items()})


def placed(place: str, code: str) -> str:
    """Return the task with ``code`` in one of :data:`PLACES`."""
    match place:
        case "global":
            return task(global_=code)
        case "arm":
            return task(impl=f"if M_value == 1000003:\n{indent(code, '    ')}\n")
        case "helper":
            return task(impl=f"def unused(a):\n{indent(code, '    ')}\n    return a\n")
        case "nested":
            return task(impl=f"if False:\n{indent(_NESTED.format(indent(code, '    ')), '    ')}\n")
    return task(**{place: code})


def _before(code: str, own: str, margin: int) -> str:
    return indent(f"{code}\n{own}" if code else own, " " * margin)
