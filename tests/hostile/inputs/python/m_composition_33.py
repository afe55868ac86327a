# a composition: nothing but a text
# expect: STEP219
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M

WEIGHTS = {"a": torch.ones(9)}


@step.fn(input=step.STuple((step.f32, step.f32)), output=step.f32)
def fn_add(input):
    return [input[0] + input[1]]


def plus_reference(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x + y


@step.program(reference=plus_reference, dims={M: 5, K: 9}, layouts={"b": "y[K]: read [i1]"})
def plus(
    a: Annotated[step.Stream, step.f32, (K, M)], b: Annotated[step.Stream, step.f32, (K, M)]
) -> Annotated[step.Stream, step.f32, (K, M)]:
    return step.Map(fn=fn_add).apply((a, b))


def both_reference(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    return x + weights["a"]


@step.composition(reference=both_reference, weights=WEIGHTS, dims={M: 5, K: 9})
def both(x, weights):
    """Nothing."""
