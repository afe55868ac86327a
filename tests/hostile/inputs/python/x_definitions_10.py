# A class of a function whose init reads files.
# expect: any
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


class Twice(step.Fn):
    def __init__(self):
        open('/etc/passwd')
        super().__init__('t', step.f32, step.f32)

    def apply(self, input):
        return [input[0] * 2]


twice = Twice()


def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@step.program(reference=reference, dims={M: 5, N: 7})
def double(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)
