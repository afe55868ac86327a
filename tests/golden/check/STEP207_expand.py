from typing import Annotated

import stepcore as step
from stepcore.dims import K, M, N


@step.program
def program(
    E0: Annotated[step.Stream, step.f32, (1, N)], E1: Annotated[step.Stream, step.f32, (K, M)]
) -> Annotated[step.Stream, step.f32, (K, N)]:
    return step.Expand(b=1).apply((E0, E1))
