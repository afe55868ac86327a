"""A mixture of two experts with static tiles: rows that are routed to an expert are filled up to tiles of 16.

Each tile reads the weights of its expert anew; `padding` tells which rows are filling, and those are dropped again.
Beside `moe_dynamic_tiles.py`, where all rows of an expert are one tile, this reads more and computes zeros.
"""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, F, M

TM, TF, R = 16, 64, step.any_size("R")
ROW, T, U = step.Tile("fp32", [1, D]), step.Tile("fp32", [TM, D]), step.Tile("fp32", [D, TF])
OUT = step.Tile("fp32", [1, F])
FLAG, REAL = step.Scalar("bool"), step.Multihot(step.Scalar("bool"), 1)


@step.fn(input=(T, U), output=step.Tile("fp32", [TM, TF]))
def up(input):
    return [torch.nn.functional.silu(input[0] @ input[1])]


@step.fn(input=FLAG, output=REAL)
def real(input):
    return [torch.logical_not(input[0]).reshape(1)]


@step.fn(input=OUT, output=OUT, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def expert(rows, w):  # [k] of ROW, where k = #(route, i)
    data, padding = step.Reshape(S=TM, L=[0], pad=0).apply(rows)  # both [TM, ceil(k/TM)]
    t0, t1 = step.Copy().apply(step.Retile(axis=0).apply(data))  # [ceil(k/TM)] of T
    cols = step.LinearOffChipLoad(tensor=w, tile=[D, TF], shape=[F // TF], stride=[1]).apply(t0)
    y = step.Map(fn=up).apply((step.Repeat(n=F // TF).apply(t1), cols))  # [F//TF, ceil(k/TM)] of [TM, TF]
    filled = step.RetileStreamify(axis=0).apply(step.Retile(axis=1).apply(y))  # [TM*ceil(k/TM)] of OUT
    flags = step.Map(fn=real, depth=M).apply(step.Flatten(L=[1]).apply(padding))  # waits for the products
    [kept] = step.Partition(N=1).apply((filled, flags))  # [#(flags, 0)] of OUT
    return kept


def reference(x: torch.Tensor, route: torch.Tensor, w0: torch.Tensor, w1: torch.Tensor) -> torch.Tensor:
    # x: (M, 1, D), route: (M, 2), w0 and w1: (D, F)
    first = route[:, 0, None, None] * torch.nn.functional.silu(x @ w0)
    return first + route[:, 1, None, None] * torch.nn.functional.silu(x @ w1)


@step.program(reference=reference, dims={M: 64, D: 128, F: 256}, data={"route": "binary"})
def moe(
    x: Annotated[step.Stream, ROW, (M,)],
    route: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)],
    *,
    w0: Annotated[step.Param, step.f32, (F, D)],
    w1: Annotated[step.Param, step.f32, (F, D)],
) -> Annotated[step.Stream, OUT, (M,)]:
    s0, s1 = step.Copy(depth=M).apply(route)  # s1 waits until all M rows are routed
    ys = [expert(p, w) for p, w in zip(step.Partition(N=2).apply((x, s0)), (w0, w1), strict=True)]
    return step.Accum(fn=add, b=1).apply(step.Reassemble().apply((ys, s1)))  # [~m, M] -> [M]
