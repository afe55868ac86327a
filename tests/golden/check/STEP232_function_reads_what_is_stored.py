from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.fn(input=step.Tile("fp32", [4, D]), output=step.Tile("fp32", [4, D]))
def plus(input):
    return [input[0] + y]


@step.program(dims={M: 8, D: 6})
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [4, D]), (1,)],
    *,
    y: Annotated[step.Param(written=True), step.f32, (D, 4)],
):
    step.LinearOffChipStore(tensor=y).apply(step.Map(fn=plus).apply(E0))
