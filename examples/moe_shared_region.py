"""A mixture of two experts that share one region, which works on tiles of both as they come.

Beside `moe_static_tiles.py` there is one unit for the products instead of two: `EagerMerge` takes each tile that is
ready and says whose it is, which chooses the weights (`RandomOffChipLoad`) and sends the results back (`Partition`).
"""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M

TM, TF, N = 16, 64, 4  # the weights of an expert are N tiles of TF columns
ROW, T, U = step.Tile("fp32", [1, D]), step.Tile("fp32", [TM, D]), step.Tile("fp32", [D, TF])
OUT, BOOL = step.Tile("fp32", [1, N * TF]), step.Scalar("bool")
FLAGS = step.Buffer(BOOL, [TM])  # which rows of a tile are filling
PAIR = step.STuple((T, FLAGS))


@step.fn(input=(T, U), output=step.Tile("fp32", [TM, TF]))
def up(input):
    return [torch.nn.functional.silu(input[0] @ input[1])]


@step.fn(input=PAIR, output=T)
def rows_of(input):
    return [input[0]]


@step.fn(input=PAIR, output=FLAGS)
def padding_of(input):
    return [input[1]]


@step.fn(input=step.Multihot(BOOL, 2), output=step.Buffer(step.Scalar("int64"), [N]))
def numbers(input):  # of the tiles of an expert's weights
    return [torch.argmax(input[0].to(torch.int64)) * 4 + torch.arange(4)]  # 4 is N


@step.fn(input=BOOL, output=step.Multihot(BOOL, 1))
def real(input):
    return [torch.logical_not(input[0]).reshape(1)]


@step.fn(input=OUT, output=OUT, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def paired(rows):  # [k] of ROW, where k = #(route, i)
    data, padding = step.Reshape(S=TM, L=[0], pad=0).apply(rows)  # both [TM, ceil(k/TM)]
    return step.Zip().apply((step.Retile(axis=0).apply(data), step.Bufferize(a=1).apply(padding)))


def kept(tiles, flags):  # [t] of Tile(fp32, [TM, N * TF]) and of FLAGS; rows of one expert never hold up the other's
    selector = step.Map(fn=real, depth=M).apply(step.Flatten(L=[1]).apply(step.Streamify().apply(flags)))
    [rows] = step.Partition(N=1, depth=M).apply((step.RetileStreamify(axis=0).apply(tiles), selector))
    return rows


def reference(x: torch.Tensor, route: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    # x: (M, 1, D), route: (M, 2), w: (2, D, N * TF)
    first = route[:, 0, None, None] * torch.nn.functional.silu(x @ w[0])
    return first + route[:, 1, None, None] * torch.nn.functional.silu(x @ w[1])


@step.program(reference=reference, dims={M: 64, D: 128}, data={"route": "binary"})
def moe(
    x: Annotated[step.Stream, ROW, (M,)],
    route: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)],
    *,
    w: Annotated[step.Param, step.f32, (N * TF, D, 2)],
) -> Annotated[step.Stream, OUT, (M,)]:
    s0, s1 = step.Copy(depth=M).apply(route)  # s1 waits until all M rows are routed
    parts = step.Partition(N=2).apply((x, s0))
    merged, whose = step.EagerMerge().apply([paired(parts[0]), paired(parts[1])])
    p0, p1 = step.Copy().apply(merged)
    e0, e1, e2 = step.Copy(n=3, depth=M).apply(whose)
    addresses = step.Streamify().apply(step.Map(fn=numbers).apply(e0))  # [N, t]
    cols = step.RandomOffChipLoad(tensor=w, tile=[D, TF]).apply(addresses)
    y = step.Map(fn=up).apply((step.Repeat(n=N).apply(step.Map(fn=rows_of).apply(p0)), cols))
    tiles = step.Partition(N=2).apply((step.Retile(axis=1).apply(y), e1))
    flags = step.Partition(N=2, depth=M).apply((step.Map(fn=padding_of, depth=M).apply(p1), e2))
    ys = [kept(tile, flag) for tile, flag in zip(tiles, flags, strict=True)]
    return step.Accum(fn=add, b=1).apply(step.Reassemble().apply((ys, s1)))  # [~m, M] -> [M]
