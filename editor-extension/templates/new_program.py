"""A STeP program."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N

ROW = step.Buffer(step.f32, [K])


# An element function: one tensor per component in, one per component out. With `init` it is an accumulator.
@step.fn(input=ROW, output=ROW, init=[0])
def add(state, input):
    return [state[0] + input[0]]


# What the program has to compute. Sizes are outermost first here, as PyTorch has them.
def reference(x: torch.Tensor) -> torch.Tensor:  # (N, M, K)
    return x.sum(1)


# Save the file, and the line above the program tells whether the result is right. Sizes of streams are innermost
# first. Each stream may be consumed once; `step.Copy()` makes two of one.
@step.program(reference=reference, dims={M: 5, N: 7, K: 9})
def sum_rows(x: Annotated[step.Stream, step.f32, (K, M, N)]) -> Annotated[step.Stream, ROW, (N,)]:
    rows = step.Bufferize(a=1).apply(x)
    return step.Accum(fn=add, b=1).apply(rows)
