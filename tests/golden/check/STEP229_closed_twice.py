from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def square(input):
    return [input[0] * input[0]]


@step.program
def program(
    E0: Annotated[step.Stream, step.f32, (M,)]
) -> Annotated[step.Stream, step.f32, (step.dyn("T"),)]:
    loop = step.Feedback(element=step.f32, dims=[M])
    E1, E2 = step.EagerMerge().apply([E0, loop.apply()])
    E3, E4 = step.Partition(N=2).apply((E1, E2))
    E5, E6 = step.Copy().apply(E3)
    loop.close(E5)
    loop.close(E6)
    return E4
