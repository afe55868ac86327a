from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)],
    E1: Annotated[step.Stream, step.f32, (M,)],
    S: Annotated[step.Stream, step.Multihot(step.f32, 3), (M,)],
):
    return step.Reassemble().apply(([E0, E1], S))
