from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    (E1,) = step.Copy(n=1).apply(E0)
    return E1
