# comprehension nest
# expect: STEP221
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N, K, D


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] + 1.0]


@step.program
def p(E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]):
    a = [0 for i0 in range(4096) for i1 in range(4096) for i2 in range(4096) for i3 in range(4096) for i4 in range(4096) for i5 in range(4096) for i6 in range(4096) for i7 in range(4096) for i8 in range(4096) for i9 in range(4096) for i10 in range(4096) for i11 in range(4096)]
    return E0


