from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M

T = step.Tile("fp32", [4, D])
W = step.Tile("fp32", [D, 2])
SUM = step.Tile("fp32", [4, 2])


@step.fn(input=(T, W), output=SUM)
def up(input):
    return [input[0] @ input[1]]


@step.fn(input=(T, W), output=SUM, init=[0])
def mac(state, input):
    return [state[0] + input[0] @ input[1]]


def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).reshape(x.shape[0], 4, 2)


@step.program(reference=reference, dims={M: 8, D: 6, K: 4})
def multiply(
    x: Annotated[step.Stream, T, (M,)], *, w: Annotated[step.Param, step.f32, (K, D)]
) -> Annotated[step.Stream, SUM, (M,)]:
    «HERE»
