# expect: STEP224
# Names of outputs are no way to what a tuple has besides.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Copy().apply(E0)._fields
