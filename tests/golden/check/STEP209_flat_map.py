from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [2 * input[0]]


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.FlatMap(fn=double).apply(E0)
