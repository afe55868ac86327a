# Either sum stops it: no single FIFO helps.
from typing import Annotated

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=step.STuple((step.f32, step.f32)), output=step.f32)
def divide(input):
    return [input[0] / input[1]]


@step.program(dims={K: 6, M: 3})
def shares(
    x: Annotated[step.Stream, step.f32, (K, M)], y: Annotated[step.Stream, step.f32, (K, M)]
) -> tuple[Annotated[step.Stream, step.f32, (K, M)], Annotated[step.Stream, step.f32, (K, M)]]:
    x1, x2 = step.Copy(
        # shallow
        depth=3,  # too shallow
    ).apply(x)
    y1, y2 = step.Copy().apply(y)  # the chip's own
    of_x = step.Repeat(n=K).apply(step.Accum(fn=add, b=1).apply(x1))
    of_y = step.Repeat(n=K).apply(step.Accum(fn=add, b=1).apply(y1))
    left = step.Map(fn=divide).apply((x2, of_x))
    right = step.Map(fn=divide).apply((y2, of_y))
    return left, right
