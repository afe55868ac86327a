"""Attention of a decoder: requests with key-value caches of different lengths go to the lane that is free first.

A request has `n` tiles of its cache from tile `first` on; `step.count` makes their numbers, in lists of as many.
"""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import B, C, D

I64, TR = step.Scalar("int64"), 64
Q, KV, S = step.Tile("fp32", [8, D]), step.Tile("fp32", [TR, D]), step.Tile("fp32", [8, TR])
STATE = step.STuple((step.Tile("fp32", [8, 1]), step.Tile("fp32", [8, 1]), Q))


@step.fn(input=(I64, I64), output=I64)
def plus(input):
    return [input[0] + input[1]]


@step.fn(input=(Q, KV), output=S)
def score(input):
    return [input[0] @ input[1].T]


@step.fn(input=(S, KV), output=STATE, init=["-inf", 0, 0])
def online(state, input):
    top = torch.maximum(state[0], torch.amax(input[0], 1, keepdim=True))
    old, p = torch.exp(state[0] - top), torch.exp(input[0] - top)
    return [top, state[1] * old + torch.sum(p, 1, keepdim=True), state[2] * old + p @ input[1]]


@step.fn(input=STATE, output=Q)
def finish(input):
    return [input[2] / input[1]]


def attend(q, first, n, k, v):  # each [j]; tiles first .. first+n-1 of the request
    i0, i1 = step.Copy().apply(step.FlatMap(fn=step.count).apply(step.Promote(b=0).apply(n)))  # [1, j] -> [~t, j]
    a0, a1 = step.Copy().apply(step.Map(fn=plus).apply((step.RepeatRef().apply((first, i0)), i1)))
    k0, k1 = step.Copy().apply(step.RandomOffChipLoad(tensor=k, tile=[TR, D]).apply(a0))  # [~t, j] of KV
    s = step.Map(fn=score).apply((step.RepeatRef().apply((q, k0)), k1))  # q leaves its FIFO after its last tile
    o = step.Accum(fn=online, b=1).apply((s, step.RandomOffChipLoad(tensor=v, tile=[TR, D]).apply(a1)))
    return step.Map(fn=finish).apply(o)  # [j] of Q


def reference(
    q: torch.Tensor, first: torch.Tensor, n: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> torch.Tensor:  # (B, 8, D), (B,), (B,), (C, D), (C, D)
    rows = [slice(int(f) * TR, int(f + c) * TR) for f, c in zip(first, n, strict=True)]
    return torch.stack([torch.softmax(a @ k[r].T, -1) @ v[r] for a, r in zip(q, rows, strict=True)])


@step.program(reference=reference, dims={B: 16, C: 4096, D: 64}, data={"n": (1, 8)})
def decode(
    q: Annotated[step.Stream, Q, (B,)],
    first: Annotated[step.Stream, I64, (B,)],
    n: Annotated[step.Stream, I64, (B,)],
    *,
    k: Annotated[step.Param, step.f32, (D, C)],
    v: Annotated[step.Param, step.f32, (D, C)],
) -> Annotated[step.Stream, Q, (B,)]:
    lanes, lane_of = step.Parallelize(N=4, policy="free").apply(q)  # lane i: [#(lane_of, i)]
    s0, s1, s2 = step.Copy(n=3, depth=16).apply(lane_of)
    starts, counts = step.Partition(N=4).apply((first, s0)), step.Partition(N=4).apply((n, s1))
    outs = [attend(a, b, c, k, v) for a, b, c in zip(lanes, starts, counts, strict=True)]
    return step.Flatten(L=[1]).apply(step.Reassemble(onehot=True).apply((outs, s2)))  # [1, B] -> [B]
