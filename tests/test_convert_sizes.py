"""Conversion, both ways and back, keeps what a program is at other sizes: also where global computes with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from job_records import candidates
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.frontend.python.reader import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.gate.refusal import Refusal

TASK = """\
global: |
{constants}
inputs:
- {{name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}}
fns:
- name: fn_own
  func_name: fn_own
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [{body}]
outputs:
- name: S0
  dtype: fp32
  dims: [M, N]
  data_transform:
  - |
    {reference}
impl: |-
  E1 = step.Map(fn=fn_own).apply(E0)
  return E1
"""
CONSTANTS = {
    "a constant": ("half = M_value * 2", "{x} * half"),
    "one of another": ("half = M_value // 2\n  quarter = half + N_value", "{x} * quarter"),
    "a list": ("weights = [M_value, 3]", "{x} * weights[0] + weights[1]"),
    "a tensor": ("table = torch.arange(M_value)", "{x} * table.sum()"),
    "a helper": ("half = M_value // 2\n  def scaled(x):\n      return x * half", "scaled({x}) + half"),
    "what follows no size": ("limit = 4\n  half = M_value + limit", "{x} * half + limit"),
}


def accepted_at_other_sizes(path: Path, text: str) -> bool:
    path.write_text(text, encoding="utf-8")
    (candidate,) = candidates({"path": str(path), "text": text, "dims": {"M": 6, "N": 4}})
    return candidate.verify().accepted


@pytest.mark.parametrize("kind", CONSTANTS)
def test_what_global_computes_from_sizes_follows_them_in_both_directions(kind: str, tmp_path: Path) -> None:
    """A reference read the constant of the module, which no ``--dims`` changes: right files were rejected."""
    constants, form = CONSTANTS[kind]
    body, reference = form.format(x="input[0]"), form.format(x="input_data['E0']")
    text = TASK.format(constants=f"  {constants}", body=body, reference=reference)
    assert accepted_at_other_sizes(tmp_path / "a.step.yaml", text)
    python = task_to_python(read_task(text, "a.step.yaml"))
    assert accepted_at_other_sizes(tmp_path / "a.step.py", python)
    module = read_module(python, "a.step.py")
    back = python_to_task(module, module.programs[0])
    assert accepted_at_other_sizes(tmp_path / "back.step.yaml", back)
    again = task_to_python(read_task(back, "back.step.yaml"))
    assert accepted_at_other_sizes(tmp_path / "again.step.py", again)


def test_what_is_drawn_is_not_converted() -> None:
    """A file of Python draws when it is imported, by a generator that everything shares: other numbers than a task."""
    text = TASK.format(
        constants="  table = torch.randn(M_value)", body="input[0] * table[0]", reference="input_data['E0'] * table[0]"
    )
    with pytest.raises(Refusal, match=r"STEP304 torch\.randn draws random numbers"):
        task_to_python(read_task(text, "a.step.yaml"))
