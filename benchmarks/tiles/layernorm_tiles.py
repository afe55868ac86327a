"""LayerNorm of rows without weights, tile by tile."""
# mypy: ignore-errors

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N

TM = 4
X = step.Tile("fp32", [TM, N])


@step.fn(input=X, output=X)
def whole(input):
    return [
        (input[0] - input[0].mean(-1, keepdim=True))
        * torch.rsqrt(torch.square(input[0] - input[0].mean(-1, keepdim=True)).mean(-1, keepdim=True) + 1e-5)
    ]


def reference(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:  # (M, N)
    return torch.nn.functional.layer_norm(x, (x.shape[-1],))


@step.program(reference=reference, dims={M: 128, N: 256})
def layernorm(
    *,
    x: Annotated[step.Param, step.f32, (N, M)],
    result: Annotated[step.Param(written=True), step.f32, (N, M)],
) -> None:
    rows = step.LinearOffChipLoad(tensor=x, tile=[TM, N]).apply()
    step.LinearOffChipStore(tensor=result).apply(step.Map(fn=whole).apply(rows))
