from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(
    E0: Annotated[step.Stream, step.f32, (M,)]
) -> Annotated[step.Stream, step.f32, (2 * M,)]:
    loop = step.Feedback(element=step.f32, dims=[M])
    E1, _ = step.EagerMerge().apply([E0, loop.apply()])
    E2, E3 = step.Copy().apply(E1)
    loop.close(E2)
    return E3
