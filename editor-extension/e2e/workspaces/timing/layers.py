"""Two layers one after the other: a composition takes the cycles of its lines."""

from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def half(input):
    return [input[0] / 2]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def plus(input):
    return [input[0] + input[1]]


@step.program(reference=lambda x: x / 2, dims={M: 5, N: 7})
def halved(E0: Annotated[step.Stream, step.f32, (N, M)]) -> Annotated[step.Stream, step.f32, (N, M)]:
    return step.Map(fn=half).apply(E0)


@step.program(reference=lambda x, y: x + y, dims={M: 5, N: 7})
def joined(
    E0: Annotated[step.Stream, step.f32, (N, M)], E1: Annotated[step.Stream, step.f32, (N, M)]
) -> Annotated[step.Stream, step.f32, (N, M)]:
    return step.Map(fn=plus).apply((E0, E1))


@step.composition(reference=lambda x: x / 2 + x / 4, dims={M: 50, N: 7})
def network(x):
    h = halved.apply(x)
    g = halved.apply(h)
    y = joined.apply(h, g)
    return y
