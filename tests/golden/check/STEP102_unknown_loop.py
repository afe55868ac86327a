from typing import Annotated

import stepcore as step
from stepcore.dims import D, K, M, N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


NAMES = open("names.txt").readlines()


@step.program()
def program(E0: Annotated[step.Stream, step.f32, (M, N)]):
    parts = [step.Map(fn=double).apply(E0) for name in NAMES]
    return parts[0]
