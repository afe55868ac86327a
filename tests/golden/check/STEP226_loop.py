from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(
    E0: Annotated[step.Stream, step.f32, (M,)]
) -> Annotated[step.Stream, step.f32, (step.dyn("T"),)]:
    loop = step.Feedback(element=step.f32, dims=[step.ragged("L")])
    E1, E2 = step.EagerMerge().apply([E0, loop.apply()])
    E3, E4 = step.Partition(N=2).apply((E1, E2))
    loop.close(E3)
    return E4
