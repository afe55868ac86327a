"""A batched matrix product by inner products: stash a dimension in a buffer, repeat it, stream it again."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M, N

ROW = step.Buffer(step.f32, [K])


@step.fn(input=(ROW, ROW), output=step.f32)
def dot(input):
    return [torch.dot(input[0], input[1])]


def reference(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:  # (M, N, K) and (M, D, K)
    return a @ b.transpose(1, 2)


@step.program(reference=reference, dims={M: 5, N: 7, K: 9, D: 16})
def matmul(
    a: Annotated[step.Stream, ROW, (N, M)],
    b: Annotated[step.Stream, ROW, (D, M)],
) -> Annotated[step.Stream, step.f32, (D, N, M)]:
    columns = step.Bufferize(a=1).apply(b)  # all D columns of one batch stay on the chip
    repeated = step.Streamify().apply(step.Repeat(n=N).apply(columns))  # ... and meet each of its N rows
    columns_again, shape = step.Copy().apply(step.Bufferize(a=1).apply(repeated))
    rows = step.RepeatRef().apply((a, shape))
    return step.Map(fn=dot).apply((rows, columns_again))
