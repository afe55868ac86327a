"""Two layers with a ReLU between them: what is between is used tile by tile and never leaves the chip."""
# mypy: ignore-errors

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import B, D, F

TM, TF = 16, 32
X, W = step.Tile("fp32", [TM, D]), step.Tile("fp32", [D, TF])
H, V = step.Tile("fp32", [TM, TF]), step.Tile("fp32", [TF, D])


@step.fn(input=(X, W), output=H)
def up(input):
    return [torch.relu(input[0] @ input[1])]


@step.fn(input=(H, V), output=X, init=[0])
def down(state, input):
    return [state[0] + input[0] @ input[1]]


def reference(
    x: torch.Tensor, w: torch.Tensor, v: torch.Tensor, result: torch.Tensor
) -> torch.Tensor:  # (B, D), (D, F), (F, D)
    return torch.relu(x @ w) @ v


@step.program(reference=reference, dims={B: 64, D: 128, F: 256})
def mlp(
    *,
    x: Annotated[step.Param, step.f32, (D, B)],
    w: Annotated[step.Param, step.f32, (F, D)],
    v: Annotated[step.Param, step.f32, (D, F)],
    result: Annotated[step.Param(written=True), step.f32, (D, B)],
) -> None:
    n, m = F // TF, B // TM
    rows = step.LinearOffChipLoad(tensor=x, tile=[TM, D], shape=[n, m], stride=[0, 1]).apply()
    first = step.LinearOffChipLoad(tensor=w, tile=[D, TF], shape=[n, m], stride=[1, 0]).apply()
    second = step.LinearOffChipLoad(tensor=v, tile=[TF, D], shape=[n, m], stride=[1, 0]).apply()
    between = step.Map(fn=up).apply((rows, first))
    step.LinearOffChipStore(tensor=result).apply(step.Accum(fn=down, b=1).apply((between, second)))
