from typing import Annotated

import stepcore as step
from stepcore.dims import M

A = step.dyn("A")


@step.program(dims={M: 8})
def program(
    E0: Annotated[step.Stream, step.f32, (M,)], route: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)]
) -> tuple[Annotated[step.Stream, step.f32, (A,)], Annotated[step.Stream, step.f32, (A,)]]:
    E1, E2 = step.Partition(N=2).apply((E0, route))
    return E1, E2
