# fn int of text
# expect: STEP311
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N, K, D


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] + 1.0]


@step.fn(input=step.f32, output=step.f32)
def g(input):
    a = int("1" * 900000, 16)
    return [input[0] * a]


@step.program
def p(E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]):
    return step.Map(fn=g).apply(E0)


