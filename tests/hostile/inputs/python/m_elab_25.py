# module level rounds
# expect: STEP912
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N, K, D


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] + 1.0]


x0 = [[a, b] for a in range(400) for b in range(400)]
x1 = [[a, b] for a in range(400) for b in range(400)]
x2 = [[a, b] for a in range(400) for b in range(400)]
x3 = [[a, b] for a in range(400) for b in range(400)]
x4 = [[a, b] for a in range(400) for b in range(400)]
x5 = [[a, b] for a in range(400) for b in range(400)]
x6 = [[a, b] for a in range(400) for b in range(400)]
x7 = [[a, b] for a in range(400) for b in range(400)]
x8 = [[a, b] for a in range(400) for b in range(400)]
x9 = [[a, b] for a in range(400) for b in range(400)]
x10 = [[a, b] for a in range(400) for b in range(400)]
x11 = [[a, b] for a in range(400) for b in range(400)]
x12 = [[a, b] for a in range(400) for b in range(400)]
x13 = [[a, b] for a in range(400) for b in range(400)]
x14 = [[a, b] for a in range(400) for b in range(400)]
x15 = [[a, b] for a in range(400) for b in range(400)]
x16 = [[a, b] for a in range(400) for b in range(400)]
x17 = [[a, b] for a in range(400) for b in range(400)]
x18 = [[a, b] for a in range(400) for b in range(400)]
x19 = [[a, b] for a in range(400) for b in range(400)]
x20 = [[a, b] for a in range(400) for b in range(400)]
x21 = [[a, b] for a in range(400) for b in range(400)]
x22 = [[a, b] for a in range(400) for b in range(400)]
x23 = [[a, b] for a in range(400) for b in range(400)]
x24 = [[a, b] for a in range(400) for b in range(400)]
x25 = [[a, b] for a in range(400) for b in range(400)]
x26 = [[a, b] for a in range(400) for b in range(400)]
x27 = [[a, b] for a in range(400) for b in range(400)]
x28 = [[a, b] for a in range(400) for b in range(400)]
x29 = [[a, b] for a in range(400) for b in range(400)]
x30 = [[a, b] for a in range(400) for b in range(400)]
x31 = [[a, b] for a in range(400) for b in range(400)]
x32 = [[a, b] for a in range(400) for b in range(400)]
x33 = [[a, b] for a in range(400) for b in range(400)]
x34 = [[a, b] for a in range(400) for b in range(400)]
x35 = [[a, b] for a in range(400) for b in range(400)]
x36 = [[a, b] for a in range(400) for b in range(400)]
x37 = [[a, b] for a in range(400) for b in range(400)]
x38 = [[a, b] for a in range(400) for b in range(400)]
x39 = [[a, b] for a in range(400) for b in range(400)]
x40 = [[a, b] for a in range(400) for b in range(400)]
x41 = [[a, b] for a in range(400) for b in range(400)]
x42 = [[a, b] for a in range(400) for b in range(400)]
x43 = [[a, b] for a in range(400) for b in range(400)]
x44 = [[a, b] for a in range(400) for b in range(400)]
x45 = [[a, b] for a in range(400) for b in range(400)]
x46 = [[a, b] for a in range(400) for b in range(400)]
x47 = [[a, b] for a in range(400) for b in range(400)]
x48 = [[a, b] for a in range(400) for b in range(400)]
x49 = [[a, b] for a in range(400) for b in range(400)]
@step.program
def p(E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]):
    return E0


