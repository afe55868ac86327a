from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (N, M)]):
    return step.EagerMerge().apply([E0, E1]).data
