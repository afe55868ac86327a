"""The name of the reference is misspelt."""

from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


def reference(a):
    return a


@step.program(reference=refrence)
def same(a: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Identity().apply(a)
