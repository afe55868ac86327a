from typing import Annotated

import stepcore as step
from stepcore.dims import M

WAY = step.Multihot(step.f32, 3)


@step.program
def program(
    E0: Annotated[step.Stream, step.f32, (M,)], which: Annotated[step.Stream, WAY, (2 * M,)]
) -> Annotated[step.Stream, step.f32, (step.dyn("T"),)]:
    first = step.Feedback(element=step.f32, dims=[M])
    second = step.Feedback(element=step.f32, dims=[M])
    E1, _ = step.EagerMerge().apply([first.apply(), second.apply()])
    E2, E3, E4 = step.Partition(N=3).apply((E1, which))
    first.close(E2)
    second.close(E3)
    return step.EagerMerge().apply([E0, E4])[0]
