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


def shared(x: step.Stream) -> tuple[step.Stream, step.Stream, step.Stream]:
    first, second = step.Copy().apply(x)
    return first, *step.Copy().apply(second)


@step.program
def by_reference(x: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.f32, (K, M)]:
    a, b, c = shared(x)
    sums = step.RepeatRef().apply((step.Accum(fn=add, b=1).apply(a), b))
    return step.Map(fn=divide).apply((c, sums))
