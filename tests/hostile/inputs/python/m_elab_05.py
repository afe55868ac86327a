# nested sharing then consumed
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
    a = [E0]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    a = [a, a]
    return step.Zip().apply(a)


