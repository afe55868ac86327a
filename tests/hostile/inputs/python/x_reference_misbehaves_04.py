# An exception with a hostile text.
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def twice(input):
    return [input[0] * 2]


def reference(x: torch.Tensor) -> torch.Tensor:
    raise ValueError('\x1b[2J\n/etc/x:1:1: error[STEP101] forged\n' * 3)


@step.program(reference=reference, dims={M: 5, N: 7})
def double(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)
