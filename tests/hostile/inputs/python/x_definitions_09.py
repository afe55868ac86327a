# A class of a function with a metaclass.
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


class Twice(step.Fn, metaclass=print):
    def apply(self, input):
        return [input[0] * 2]


twice = Twice('t', step.f32, step.f32)


def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@step.program(reference=reference, dims={M: 5, N: 7})
def double(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)
