"""The reference is defined too late."""

from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.program(reference=reference)
def same(a: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Identity().apply(a)


def reference(a):
    return a
