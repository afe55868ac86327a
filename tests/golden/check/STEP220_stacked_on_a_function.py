from typing import Annotated

import stepcore as step
from stepcore.dims import D, K, M, N


@step.program()
@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.program()
def program(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=double).apply(E0)
