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
def sums_of_all(x: Annotated[step.Stream, ROW, (K, M)]) -> Annotated[step.Stream, ROW, (K, M)]:
    first, second = step.Copy().apply(x)
    total = step.Accum(fn=add_rows, b=2).apply(step.Promote(b=2).apply(first))
    repeated = step.Flatten(L=[2]).apply(step.Repeat(n=K).apply(step.Repeat(n=M).apply(total)))
    return step.Map(fn=divide_rows).apply((second, repeated))
