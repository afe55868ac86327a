"""Documents for the tests of the language server."""

from __future__ import annotations

HEAD = '''"""Programs."""
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def add(input):
    return [input[0] + input[1]]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def quadrupled(x: torch.Tensor) -> torch.Tensor:
    return x * 4

'''

GOOD = """
@step.program(reference=doubled, dims={M: 3, N: 2})
def good(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    E1 = step.Map(fn=double).apply(E0)
    return E1

"""

OVERUSED = """
@step.program(reference=quadrupled, dims={M: 3, N: 2})
def overused(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    E1 = step.Map(fn=double).apply(E0)
    return step.Map(fn=add).apply((E1, E1))

"""

FIXED = OVERUSED.replace(
    "    return step.Map(fn=add).apply((E1, E1))",
    "    E2, E3 = step.Copy().apply(E1)\n    return step.Map(fn=add).apply((E2, E3))",
)

TASK = """test_name: doubled
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.rand}
fns:
- name: Double
  func_name: fn_double
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2]
outputs:
- name: S0
  dtype: fp32
  dims: [M, N]
  data_transform:
  - |
    input_data['E0'] * 2
"""
IMPL = """impl: |-
  E1 = step.Map(fn=fn_double).apply(E0)
  return E1
"""
