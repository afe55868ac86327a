from typing import Annotated

from stepcore import *
from stepcore.dims import *


@fn(input=f32, output=f32)
def double(input):
    return [input[0] * 2]


@fn(input=f32, output=f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@program()
def program(E0: Annotated[Stream, f32, (M, N)]) -> Annotated[Stream, f32, (M, N)]:
    return Map(fn=double).apply(Bufferize(a=1).apply(E0))
