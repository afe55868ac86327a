from typing import Annotated

import stepcore as step
from stepcore.dims import K, M, N


@step.program
def program(
    E0: Annotated[step.Stream, step.f32, (1, M, N)], E1: Annotated[step.Stream, step.f32, (K, M, N)]
) -> Annotated[step.Stream, step.f32, (K, M, N)]:
    return step.Expand(b=2).apply((E0, E1))
