from typing import Annotated

import stepcore as step
from stepcore.dims import D, M, N


@step.program
def program(
    where: Annotated[step.Stream, step.i64, (M,)],
    rows: Annotated[step.Stream, step.Tile("fp32", [1, D]), (M,)],
    *,
    y: Annotated[step.Param, step.f32, (D, N)],
) -> Annotated[step.Stream, step.bool_, (M,)]:
    return step.RandomOffChipStore(tensor=y).apply((where, rows))
