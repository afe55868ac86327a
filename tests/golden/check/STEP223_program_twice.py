from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.program
def same(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return E0


@step.program
def same(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    return E0
