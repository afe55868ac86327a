# expect: STEP218
from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


def filled(x):
    return x


@step.program(reference=filled, dims={M: 10, N: 3})
def rows(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (12, N)]:
    E1, E2 = step.Reshape(S=4, L=[0, 1], pad=0).apply(E0)
    return step.Flatten(L=[1]).apply(E1)
