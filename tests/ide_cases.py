"""Texts with a cursor for tests of editor features: ``|`` marks the place and is taken out."""

from __future__ import annotations

from stepcore.ide.analysis import Analysis, analyze

PYTHON = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M, N

ROW = step.Buffer(step.f32, [D])


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=ROW, output=ROW)
def keep(input):
    return [input[0]]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    top = state[0] + input[0]
    return [top]


def reference(a, b):
    return a * 2


@step.program(reference=reference, dims={{M: 5, N: 7, D: 4}})
def program(
    a: Annotated[step.Stream, step.f32, (M, N)], b: Annotated[step.Stream, ROW, (M, N)]
) -> Annotated[step.Stream, step.f32, (M, N)]:
{body}
"""

TASK = """\
test_name: doubled
inputs:
  - name: E0
    dtype: fp32
    dims: [M, N]
  - name: E1
    dtype: Multihot(fp32, E)
    dims: [M, N]
fns:
  - func_name: double
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
        E0 * 2
impl: |
{body}
"""


def opened(template: str, body: str, path: str) -> tuple[Analysis, int]:
    """Return the analysis of a template with ``body`` (indented here) and the offset of its ``|``."""
    indent = "    " if path.endswith(".py") else "  "
    lines = "\n".join(indent + line if line else line for line in body.split("\n"))
    head, tail = template.format(body="\0").split("\0")
    before, after = lines.split("|")
    return analyze(head + before + after + tail, path), len(head) + len(before)


def in_python(body: str) -> tuple[Analysis, int]:
    """A Python file with two inputs, scalars ``a`` and rows ``b``, of shape [M, N]."""
    return opened(PYTHON, body, "case.py")


def in_task(body: str) -> tuple[Analysis, int]:
    """A task file with the inputs E0, scalars, and E1, selectors."""
    return opened(TASK.replace("{body}", "\x01").replace("{", "{{").replace("}", "}}").replace("\x01", "{body}"), body,
                  "case.yaml")  # fmt: skip
