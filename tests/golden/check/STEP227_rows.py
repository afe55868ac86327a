from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.program(dims={M: 10, D: 6})
def program(*, x: Annotated[step.Param, step.f32, (D, M)]):
    return step.LinearOffChipLoad(tensor=x, tile=[4, D]).apply()
