"""Softmax of each row. A stream of rows is consumed three times, which no FIFO can do: see the underlined name."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def exponential(input):
    return [torch.exp(input[0])]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def divide(input):
    return [input[0] / input[1]]


def reference(x: torch.Tensor) -> torch.Tensor:  # (N, M)
    return torch.softmax(x, dim=-1)


@step.program(reference=reference, dims={M: 5, N: 7})
def softmax(x: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    weights = step.Bufferize(a=1).apply(step.Map(fn=exponential).apply(x))
    total = step.Accum(fn=add, b=1).apply(step.Streamify().apply(weights))
    totals = step.RepeatRef().apply((total, step.Streamify().apply(weights)))
    return step.Map(fn=divide).apply((step.Streamify().apply(weights), totals))
