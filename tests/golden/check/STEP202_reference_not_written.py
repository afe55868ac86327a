"""The reference does not exist yet."""

from typing import Annotated

import stepcore as step
from stepcore.dims import K, M, N


# rows
@step.program(reference=expected, dims={M: 5})
def rows(
    a: Annotated[step.Stream, step.f32, (M, N)], *, W: Annotated[step.Param, step.f32, (K,)]
) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Identity().apply(a)
