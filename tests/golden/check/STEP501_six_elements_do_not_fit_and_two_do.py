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


@step.program(dims={K: 12})
def chunks_of_six(x: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.f32, (6, K // 6, M)]:
    parts = step.Reshape(S=6, L=[0]).apply(x)
    halves = list(step.Copy().apply(parts))
    sums = step.Repeat(n=6).apply(step.Accum(fn=add, b=1).apply(halves[0]))
    return step.Map(fn=divide).apply((halves[1], sums))


@step.program(dims={K: 12})
def chunks_of_two(x: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.f32, (2, K // 2, M)]:
    first, second = step.Copy().apply(step.Reshape(S=2, L=[0]).apply(x))
    sums = step.Repeat(n=2).apply(step.Accum(fn=add, b=1).apply(first))
    return step.Map(fn=divide).apply((second, sums))
