# expect: STEP224
# What makes an operator without a look at its parameters.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Promote.made(b=0).apply(E0)
