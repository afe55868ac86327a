"""Each element's share of its row. The elements wait for the sum of their row, and their FIFO is too small."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def divide(input):
    return [input[0] / input[1]]


def reference(x: torch.Tensor) -> torch.Tensor:  # (N, 16)
    return x / x.sum(dim=-1, keepdim=True)


@step.program(reference=reference, dims={N: 64})
def shares(x: Annotated[step.Stream, step.f32, (16, N)]) -> Annotated[step.Stream, step.f32, (16, N)]:
    direct, folded = step.Copy().apply(x)
    sums = step.Accum(fn=add, b=1).apply(folded)
    repeated = step.Repeat(n=16).apply(sums)
    return step.Map(fn=divide).apply((direct, repeated))
