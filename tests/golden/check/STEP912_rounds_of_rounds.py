from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] + input[0]]


def rounds(E):
    for a in range(30):
        for b in range(100):
            numbers = [a, b] * 8
    return E


@step.program
def first(E0: Annotated[step.Stream, step.f32, (M,)]):
    return step.Map(fn=double).apply(rounds(E0))


@step.program
def second(E0: Annotated[step.Stream, step.f32, (M,)]):
    return step.Map(fn=double).apply(rounds(E0))


@step.program
def third(E0: Annotated[step.Stream, step.f32, (M,)]):
    return step.Map(fn=double).apply(rounds(E0))


@step.program
def fourth(E0: Annotated[step.Stream, step.f32, (M,)]):
    return step.Map(fn=double).apply(rounds(E0))


@step.program
def fifth(E0: Annotated[step.Stream, step.f32, (M,)]):
    return step.Map(fn=double).apply(rounds(E0))


@step.program
def sixth(E0: Annotated[step.Stream, step.f32, (M,)]):
    return step.Map(fn=double).apply(rounds(E0))
