# expect: STEP201
# Nor the module that describes calls.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.ops.calling.apply(E0)
