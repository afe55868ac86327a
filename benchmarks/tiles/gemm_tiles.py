"""A product of matrices, tile by tile: each tile of the result sums products of a row and a column of tiles."""
# mypy: ignore-errors

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N

TM, TN, TK = 16, 64, 64
A, B, C = step.Tile("fp32", [TM, TK]), step.Tile("fp32", [TK, TN]), step.Tile("fp32", [TM, TN])


@step.fn(input=(A, B), output=C, init=[0])
def product(state, input):
    return [state[0] + input[0] @ input[1]]


def reference(a: torch.Tensor, b: torch.Tensor, result: torch.Tensor) -> torch.Tensor:  # (M, K), (K, N)
    return a @ b


@step.program(reference=reference, dims={M: 128, N: 256, K: 256})
def gemm(
    *,
    a: Annotated[step.Param, step.f32, (K, M)],
    b: Annotated[step.Param, step.f32, (N, K)],
    result: Annotated[step.Param(written=True), step.f32, (N, M)],
) -> None:
    k, n, m = K // TK, N // TN, M // TM
    rows = step.LinearOffChipLoad(tensor=a, tile=[TM, TK], shape=[k, n, m], stride=[1, 0, k]).apply()
    columns = step.LinearOffChipLoad(tensor=b, tile=[TK, TN], shape=[k, n, m], stride=[n, 1, 0]).apply()
    step.LinearOffChipStore(tensor=result).apply(step.Accum(fn=product, b=1).apply((rows, columns)))
