from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def reference(x: torch.Tensor) -> torch.Tensor:
    return x.sum(1)


@step.program(reference=reference)
def rows(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
    «HERE»
