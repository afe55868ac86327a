from typing import Annotated

import stepcore as step
from stepcore.dims import D, K, M

X = step.Tile("fp32", [step.ragged("L"), D])


@step.program(dims={M: 8, D: 6})
def program(*, x: Annotated[step.Param, step.f32, (D, M)]):
    return step.LinearOffChipLoad(tensor=x, tile=[4, D]).apply()
