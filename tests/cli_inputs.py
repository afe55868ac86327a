"""Programs for the tests of the command line."""

from __future__ import annotations

TASK = """\
test_name: double_rows
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- name: Double
  func_name: fn_double
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2]
- name: Sum
  func_name: fn_sum
  init: [0]
  input_dtype: [fp32, fp32]
  output_dtype: fp32
  apply: |
    return [state[0] + input[0] * input[1]]
outputs:
- name: S0
  dtype: fp32
  dims: [N]
  data_transform:
  - |
    (input_data['E0'] * 2 * input_data['E0']).sum(1)
"""
GOOD = """\
impl: |-
  E1, E2 = step.Copy().apply(E0)
  E3 = step.Map(fn=fn_double).apply(E1)
  E4 = step.Zip().apply((E3, E2))
  E5 = step.Accum(fn=fn_sum, b=1).apply(E4)
  return E5
"""
TWICE = """\
impl: |-
  # a comment that stays, with an emoji: \U0001f600
  E3 = step.Map(fn=fn_double).apply(E0)
  E4 = step.Zip().apply((E3, E0))   # the second use
  E5 = step.Accum(fn=fn_sum, b=1).apply(E4)
  return E5
"""
WRONG = (
    GOOD.replace("apply((E3, E2))", "apply((E2, E2_))")
    .replace("E1, E2 = step.Copy().apply(E0)", "E1, E2_ = step.Copy().apply(E0)\n  E2 = step.Identity().apply(E1)")
    .replace("  E3 = step.Map(fn=fn_double).apply(E1)\n", "")
)
ILL_TYPED = GOOD.replace("b=1", "b=3")

PYTHON = '''\
"""Rows that are doubled and summed."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def sums(x: torch.Tensor) -> torch.Tensor:  # x: (N, M)
    return x.sum(-1)


@step.program(reference=sums, dims={M: 5, N: 7})
def sum_inner(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
    return step.Accum(fn=add, b=1).apply(E0)
'''
