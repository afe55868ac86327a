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
    E1, E2 = step.Copy().apply(E0)
    loop.close(E1)
    E3, _ = step.EagerMerge().apply([E2, loop.apply()])
    return E3
