"""The softmax of rows, tile by tile."""
# mypy: ignore-errors

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N

TM = 4
X = step.Tile("fp32", [TM, N])


@step.fn(input=X, output=X)
def whole(input):
    return [torch.softmax(input[0], -1)]


def reference(x: torch.Tensor, result: torch.Tensor) -> torch.Tensor:  # (M, N)
    return torch.softmax(x, -1)


@step.program(reference=reference, dims={M: 128, N: 256})
def softmax(
    *,
    x: Annotated[step.Param, step.f32, (N, M)],
    result: Annotated[step.Param(written=True), step.f32, (N, M)],
) -> None:
    rows = step.LinearOffChipLoad(tensor=x, tile=[TM, N]).apply()
    step.LinearOffChipStore(tensor=result).apply(step.Map(fn=whole).apply(rows))
