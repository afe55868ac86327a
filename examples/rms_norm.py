"""RMSNorm of K numbers per position: a value that is used on both sides of a reduction needs Copy and RepeatRef.

What is used after the reduction waits for it in a buffer: a FIFO of hardware holds a few elements, not a row.
"""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.f32, output=step.f32)
def square(input):
    return [input[0] * input[0]]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def count(state_and_one):
    total, size = state_and_one
    return [torch.rsqrt(total / size + 1e-6)]


@step.fn(input=step.f32, output=step.f32)
def one(input):
    return [torch.ones_like(input[0])]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def scale(input):
    return [input[0] * input[1]]


def reference(x: torch.Tensor) -> torch.Tensor:  # x: (M, K)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


@step.program(reference=reference, dims={M: 5, K: 9})
def rms_norm(
    x: Annotated[step.Stream, step.f32, (K, M)],
) -> Annotated[step.Stream, step.f32, (K, M)]:
    x_squared, x_counted, x_scaled, x_shape = copies(x)
    total = step.Accum(fn=add, b=1).apply(step.Map(fn=square).apply(x_squared))
    size = step.Accum(fn=add, b=1).apply(step.Map(fn=one).apply(x_counted))
    factor = step.Map(fn=count).apply((total, size))
    factors = step.RepeatRef().apply((factor, x_shape))
    return step.Map(fn=scale).apply((x_scaled, factors))


def copies(x: step.Stream) -> tuple[step.Stream, step.Stream, step.Stream, step.Stream]:
    """Four streams of one: helpers are followed by the checker as if they were written in place."""
    first, second = step.Copy().apply(x)
    rows = step.Bufferize(a=1).apply(second)
    waiting = step.Streamify().apply(rows)
    a, b = step.Copy().apply(first)
    c, d = step.Copy().apply(waiting)
    return a, b, c, d
