from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def half(input):
    return [input[0] / 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def behind(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.cat([x / 2, y]), (x.sum() + y.sum()).reshape(1)


@step.program(reference=behind, dims={M: 3, N: 2})
def as_they_come(
    x: Annotated[step.Stream, step.f32, (M,)], y: Annotated[step.Stream, step.f32, (N,)]
) -> tuple[Annotated[step.Stream, step.f32, (M + N,)], Annotated[step.Stream, step.f32, (1,)]]:
    x0, x1 = step.Copy().apply(x)
    y0, y1 = step.Copy().apply(y)
    joined, _ = step.EagerMerge().apply([step.Map(fn=half).apply(x0), y0])
    summed, _ = step.EagerMerge().apply([x1, y1])  # a sum has no order
    return joined, step.Accum(fn=add, b=1).apply(step.Promote(b=1).apply(summed))
