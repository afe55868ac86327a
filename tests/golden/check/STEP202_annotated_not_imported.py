"""Annotated is used without its import."""

import torch

import stepcore as step
from stepcore.dims import M, N


def reference(a):
    return a


@step.program(reference=reference)
def same(a: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Identity().apply(a)
