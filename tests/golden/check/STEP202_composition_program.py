from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N

WEIGHTS = {"bias": torch.ones(9), "fc": torch.ones(7, 9)}


@step.fn(input=step.STuple((step.f32, step.f32)), output=step.f32)
def add_fn(input):
    return [input[0] + input[1]]


@step.fn(input=step.f32, output=step.bool_)
def sign_fn(input):
    return [input[0] > 0]


@step.program(layouts={"b": "y[K]: read [i1]"})
def plus(
    a: Annotated[step.Stream, step.f32, (K, M)], b: Annotated[step.Stream, step.f32, (K, M)]
) -> Annotated[step.Stream, step.f32, (K, M)]:
    return step.Map(fn=add_fn).apply((a, b))


@step.program(layouts={"S0": "permute [1, 0]; merge [1, 1]"})
def turned(a: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.f32, (K, M)]:
    return step.Identity().apply(a)


@step.program()
def signs(a: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.bool_, (K, M)]:
    return step.Map(fn=sign_fn).apply(a)


def reference(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    return x + weights["bias"]


@step.composition(reference=reference, weights=WEIGHTS, dims={M: 5, K: 9})
def net(x, weights):
    h = pluss.apply(x, weights["bias"])
    return h
