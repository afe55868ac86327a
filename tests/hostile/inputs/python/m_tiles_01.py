from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.program(dims={M: 8, D: 8})
def program(*, x: Annotated[step.Param(written=open("hostile", "w")), step.f32, (D, M)]):
    return step.LinearOffChipLoad(tensor=x, tile=[4, 4]).apply()
