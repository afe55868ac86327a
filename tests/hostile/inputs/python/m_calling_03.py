# expect: STEP902
# The same, a hundred times.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Repeat(n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1, n=1).apply(E0)
