from typing import Annotated

import stepcore as step
from stepcore.dims import D, K, M

ROW = step.Buffer(step.f32, [D])


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def divide(input):
    return [input[0] / input[1]]


@step.fn(input=ROW, output=ROW, init=[0])
def add_rows(state, input):
    return [state[0] + input[0]]


@step.fn(input=(ROW, ROW), output=ROW)
def divide_rows(input):
    return [input[0] / input[1]]


@step.fn(input=(step.f32, step.f32), output=(step.f32, step.f32), init=[0, 0])
def add_pairs(state, input):
    return [state[0] + input[0], state[1] + input[1]]


@step.fn(input=(step.f32, step.f32, step.f32, step.f32), output=step.f32)
def divide_pairs(input):
    return [input[0] / input[2] + input[1] / input[3]]


@step.program
def pairs(
    x: Annotated[step.Stream, step.f32, (K, M)], y: Annotated[step.Stream, step.f32, (K, M)]
) -> Annotated[step.Stream, step.f32, (K, M)]:
    first, second = step.Copy().apply(step.Identity().apply(step.Zip().apply((x, y))))
    sums = step.Repeat(n=K).apply(step.Accum(fn=add_pairs, b=1).apply(first))
    return step.Map(fn=divide_pairs).apply((second, sums))
