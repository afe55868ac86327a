"""Attention as one might type it: `scores` and `weights` are consumed twice. `make demo` mends that."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M, N

ROW = step.Buffer(step.f32, [D])


@step.fn(input=step.f32, output=step.f32, init=["-inf"])
def largest(state, input):
    return [torch.maximum(state[0], input[0])]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def weigh(input):
    score, top = input
    return [torch.exp(score - top)]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, ROW), output=ROW)
def scale(input):
    return [input[0] * input[1]]


@step.fn(input=ROW, output=ROW, init=[0])
def add_rows(state, input):
    return [state[0] + input[0]]


@step.fn(input=(ROW, step.f32), output=ROW)
def divide(input):
    return [input[0] / input[1]]


def reference(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:  # (N, M) and (N, M, D)
    return torch.einsum("nm,nmd->nd", torch.softmax(scores, dim=-1), values)


@step.program(reference=reference, dims={M: 5, N: 7, D: 16})
def attention(
    scores: Annotated[step.Stream, step.f32, (M, N)],
    values: Annotated[step.Stream, ROW, (M, N)],
) -> Annotated[step.Stream, ROW, (N,)]:
    rows = step.Bufferize(a=1).apply(scores)  # a row waits until its largest score is known
    waiting = step.Streamify().apply(rows)
    top = step.Accum(fn=largest, b=1).apply(scores)
    tops = step.Repeat(n=M).apply(top)
    weights = step.Map(fn=weigh).apply((waiting, tops))
    denominator = step.Accum(fn=add, b=1).apply(weights)
    weighted = step.Map(fn=scale).apply((weights, values))
    total = step.Accum(fn=add_rows, b=1).apply(weighted)
    return step.Map(fn=divide).apply((total, denominator))
