from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M,)], S: Annotated[step.Stream, step.Multihot(step.f32, 1), (M,)]):
    return step.Reassemble(order="time").apply(([E0], S))
