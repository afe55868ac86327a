# An annotation of a function that is code.
# expect: any
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def twice(input: __import__('os').system('touch $HOME/stepsmith-owned')):
    return [input[0] * 2]


def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@step.program(reference=reference, dims={M: 5, N: 7})
def double(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)
