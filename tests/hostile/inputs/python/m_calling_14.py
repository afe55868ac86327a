# expect: STEP205
# Keywords that nobody knows the names of.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return step.Identity().apply(E0, **{'a': 1})
