"""Small tasks for simulator tests, and the means to judge answers to them."""

from __future__ import annotations

from typing import Any

from stepcore.check import Checked, ImplChecker
from stepcore.frontend.yaml import read_task
from stepcore.sim.functional import Session
from stepcore.sim.verdict import Verdict
from stepcore.span import Embedded

TASK = """
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
parameters:
- {name: W, dtype: fp32, dims: [1], data_gen: torch.ones}
fns:
- name: Sum
  func_name: fn_sum
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [state[0] + input[0]]
- name: Twice
  func_name: fn_twice
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2 * input_data['W'][0]]
- name: Invert
  func_name: fn_invert
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] / (input[0] - input[0])]
outputs:
- name: S0
  dtype: fp32
  dims: [N]
  data_transform:
  - |
    input_data['E0'].sum(1) * 2
"""

ROUTED = """
inputs:
- {name: E0, dtype: fp32, dims: [M], data_gen: torch.randn}
- {name: E1, dtype: "Multihot(fp32, 2)", dims: [M], min: 1, max: 1}
fns:
- name: Take
  func_name: fn_take
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [state[0] + input[0]]
outputs:
- name: S0
  dtype: fp32
  dims: [M]
  data_transform:
  - |
    input_data['E0']
"""


class Bed:
    """A task with the means to judge answers."""

    def __init__(self, text: str = TASK, **options: Any) -> None:
        task = read_task(text, "bed.step.yaml")
        assert task.spec is not None
        assert not task.diagnostics
        self.checker = ImplChecker(task)
        self.session = Session(task.spec, **options)

    def check(self, impl: str) -> Checked:
        return self.checker.check(Embedded.whole(impl))

    def verify(self, impl: str) -> Verdict:
        return self.session.verify(self.check(impl))
