# fn twins
# expect: STEP912
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N, K, D


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] + 1.0]


@step.fn(input=step.f32, output=step.f32)
def g(input):
    a = [input[0]]
    b = [input[0]]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    a = [a, a]
    b = [b, b]
    c = a if input[0].sum() > 0 else b
    return [input[0]]


@step.program
def p(E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]):
    return step.Map(fn=g).apply(E0)


