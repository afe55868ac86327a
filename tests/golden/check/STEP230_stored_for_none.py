from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.program
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [1, D]), (M,)], *, W: Annotated[step.Param, step.f32, (D, M)]
) -> None:
    step.LinearOffChipStore(tensor=W).apply(E0)
