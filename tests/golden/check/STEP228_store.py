from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.program(dims={M: 8, D: 6})
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [4, D]), (2,)], *, y: Annotated[step.Param(written=True), step.f32, (D, M)]
) -> None:
    step.LinearOffChipStore(tensor=y, base=1).apply(E0)
