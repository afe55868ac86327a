from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.program(dims={M: 8, D: 6})
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [4, D]), (2,)], *, y: Annotated[step.Param, step.f32, (D, M)]
):
    step.LinearOffChipStore(tensor=y).apply(E0)
