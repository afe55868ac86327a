from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (2, M)]:
    return step.RepeatStatic(n=2).apply(E0)
