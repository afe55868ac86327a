from typing import Annotated

import stepcore as step
from stepcore.dims import D, M, N


@step.program
def program(
    where: Annotated[step.Stream, step.i32, (M,)], *, x: Annotated[step.Param, step.f32, (D, N)]
) -> Annotated[step.Stream, step.Tile("fp32", [1, D]), (M,)]:
    return step.RandomOffChipLoad(tensor=x, tile=[1, D]).apply(where)
