"""RMSNorm of rows and a linear layer behind it: tiles of whole rows, and columns of the weights for each of them."""
# mypy: ignore-errors

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N

TM, TN = 16, 32
X, W, Y = step.Tile("fp32", [TM, K]), step.Tile("fp32", [K, TN]), step.Tile("fp32", [TM, TN])


@step.fn(input=X, output=X)
def norm(input):
    return [input[0] * torch.rsqrt((input[0] * input[0]).mean(-1, keepdim=True) + 1e-6)]


@step.fn(input=(X, W), output=Y)
def product(input):
    return [input[0] @ input[1]]


def reference(x: torch.Tensor, w: torch.Tensor, result: torch.Tensor) -> torch.Tensor:  # (M, K), (K, N)
    return (x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)) @ w


@step.program(reference=reference, dims={M: 64, N: 256, K: 128})
def rms_linear(
    *,
    x: Annotated[step.Param, step.f32, (K, M)],
    w: Annotated[step.Param, step.f32, (N, K)],
    result: Annotated[step.Param(written=True), step.f32, (N, M)],
) -> None:
    n, m = N // TN, M // TM
    rows = step.Map(fn=norm).apply(step.LinearOffChipLoad(tensor=x, tile=[TM, K], shape=[n, m], stride=[0, 1]).apply())
    columns = step.LinearOffChipLoad(tensor=w, tile=[K, TN], shape=[n, m], stride=[1, 0]).apply()
    step.LinearOffChipStore(tensor=result).apply(step.Map(fn=product).apply((rows, columns)))
