from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program(dims={M: 3}, data={"x": {[1]: 2}})
def program(x: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return x
