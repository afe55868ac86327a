"""Texts with marks for tests of editor features: ``¦`` is the cursor, ``«...»`` what is expected to be found."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stepcore.ide.analysis import Analysis, analyze
from stepcore.text.span import Span

MARKS = re.compile("[¦«»]")

# Element functions and a reference, in front of a program.
HEAD = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import D, K, M, N

ROW = step.Buffer(step.f32, [D])


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def reference(x):
    return x.sum(-1)


@step.program(reference=reference, dims={M: 5, N: 7})
def program(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
"""

TASK = """\
test_name: scaled
global: |
  L = Symbol("L")
  L_value = 3
  ctx[L] = L_value
  gain = 2.0
inputs:
- {name: E0, dtype: "Buffer(fp32, [L])", dims: [M, N], data_gen: torch.randn}
- {name: S1, dtype: "Multihot(fp32, L)", dims: [N], min: 0, max: 2}
parameters:
- {name: W, dtype: fp32, dims: [L, K]}
fns:
- name: Scale  # multiplies
  func_name: fn_scale
  input_dtype: Buffer(fp32, [L])
  output_dtype: fp32
  apply: |
    part = input[0] * gain
    return [part.sum() * input_data['W'].sum() * L_value]
- func_name: fn_add
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    # adds what comes
    return [state[0] + input[0]]
outputs:
- name: R0
  dtype: fp32
  dims: [N]
  data_transform:
  - |
    part = input_data['E0'] * gain
    part.sum(-1) * input_data['W'].sum() * L
impl: |
"""


@dataclass(frozen=True)
class Marked:
    """A text without its marks: its analysis, where the cursor was, and what was marked."""

    analysis: Analysis
    offset: int
    spans: list[Span]

    @property
    def text(self) -> str:
        return self.analysis.source.text


def marked(text: str, path: str = "file.py") -> Marked:
    """Analyze a text with marks; without a cursor the offset is -1."""
    plain, offset, starts, spans = "", -1, list[int](), list[Span]()
    position = 0
    for match in MARKS.finditer(text):
        plain += text[position : match.start()]
        position = match.end()
        if match[0] == "¦":
            offset = len(plain)
        elif match[0] == "«":
            starts.append(len(plain))
        else:
            spans.append(Span(starts.pop(), len(plain)))
    return Marked(analyze(plain + text[position:], path), offset, sorted(spans))


def show(text: str, spans: list[Span]) -> str:
    """Return ``text`` with marks around ``spans``, so that a failing comparison can be read."""
    for span in sorted(spans, reverse=True):
        text = f"{text[: span.start]}«{text[span.start : span.end]}»{text[span.end :]}"
    return text


def program(body: str) -> str:
    """Return a Python file whose program has ``body``."""
    return HEAD + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))


def task(body: str) -> str:
    """Return a task whose impl is ``body``."""
    return TASK + "".join(f"  {line}\n" if line else "\n" for line in body.split("\n"))
