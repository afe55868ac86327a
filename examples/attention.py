"""Attention of one query per row: softmax over M keys and the weighted sum of their values, in one pass.

The accumulator keeps the running maximum, the denominator and the weighted sum, and rescales the last two whenever
the maximum grows ("online softmax"), so the scores are never stored.
"""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, M, N

ROW = step.Buffer(step.f32, [D])
STATE = step.STuple((step.f32, step.f32, ROW))


@step.fn(input=(step.f32, ROW), output=STATE, init=["-inf", 0, 0])
def attend(state, input):
    top = torch.maximum(state[0], input[0])
    decay = torch.exp(state[0] - top)
    weight = torch.exp(input[0] - top)
    return [top, state[1] * decay + weight, state[2] * decay + weight * input[1]]


@step.fn(input=STATE, output=ROW)
def normalize(input):
    return [input[2] / input[1]]


def reference(scores: torch.Tensor, values: torch.Tensor) -> torch.Tensor:  # (N, M) and (N, M, D)
    return torch.einsum("nm,nmd->nd", torch.softmax(scores, dim=-1), values)


@step.program(reference=reference, dims={M: 5, N: 7, D: 16})
def attention(
    scores: Annotated[step.Stream, step.f32, (M, N)],
    values: Annotated[step.Stream, ROW, (M, N)],
) -> Annotated[step.Stream, ROW, (N,)]:
    pairs = step.Zip().apply((scores, values))
    totals = step.Accum(fn=attend, b=1).apply(pairs)
    return step.Map(fn=normalize).apply(totals)
