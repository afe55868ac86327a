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


@step.program
def each_by_the_other(
    x: Annotated[step.Stream, step.f32, (K, M)], y: Annotated[step.Stream, step.f32, (K, M)]
) -> tuple[Annotated[step.Stream, step.f32, (K, M)], Annotated[step.Stream, step.f32, (K, M)]]:
    x1, x2 = step.Copy().apply(x)
    y1, y2 = step.Copy().apply(y)
    of_x = step.Repeat(n=K).apply(step.Accum(fn=add, b=1).apply(x1))
    of_y = step.Repeat(n=K).apply(step.Accum(fn=add, b=1).apply(y1))
    left = step.Map(fn=divide).apply((x2, of_y))
    right = step.Map(fn=divide).apply((y2, of_x))
    return left, right
