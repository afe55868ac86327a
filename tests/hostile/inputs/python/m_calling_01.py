# expect: STEP902
# A keyword that stands twice: the last one must not count in silence.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Promote(b=0, b=1).apply(E0)
