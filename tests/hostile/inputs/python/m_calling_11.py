# expect: STEP224
# What is wrapped around .apply.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Promote(b=0).apply.__wrapped__(E0)
