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
    E1, E2 = step.Copy().apply(step.Zip().apply((E0, loop.apply())))
    loop.close(step.Map(fn=step.fns.add(step.f32, step.f32)).apply(E1))
    return step.Map(fn=step.fns.add(step.f32, step.f32)).apply(E2)
