"""K is used without its import."""

from typing import Annotated

import stepcore as step
from stepcore.dims import D, M, N


@step.program()
def same(a: Annotated[step.Stream, step.f32, (M, N)]):
    return step.Repeat(n=K).apply(a)
