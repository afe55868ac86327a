"""A SwiGLU feed-forward layer: weights are parameters, and the functions inside the program read them by name."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M

TOKEN = step.Buffer(step.f32, [D])
HIDDEN = step.Buffer(step.f32, [K])


def reference(x: torch.Tensor, *, gate: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> torch.Tensor:
    return (torch.nn.functional.silu(x @ gate) * (x @ up)) @ down


@step.program(reference=reference, dims={M: 5, D: 16, K: 9})
def swiglu(
    tokens: Annotated[step.Stream, TOKEN, (M,)],
    *,
    gate: Annotated[step.Param, step.f32, (K, D)],
    up: Annotated[step.Param, step.f32, (K, D)],
    down: Annotated[step.Param, step.f32, (D, K)],
) -> Annotated[step.Stream, TOKEN, (M,)]:
    @step.fn(input=TOKEN, output=HIDDEN)
    def gated(input):
        return [torch.nn.functional.silu(input[0] @ gate)]

    @step.fn(input=TOKEN, output=HIDDEN)
    def lifted(input):
        return [input[0] @ up]

    @step.fn(input=(HIDDEN, HIDDEN), output=TOKEN)
    def lowered(input):
        return [(input[0] * input[1]) @ down]

    left, right = step.Copy().apply(tokens)
    return step.Map(fn=lowered).apply((step.Map(fn=gated).apply(left), step.Map(fn=lifted).apply(right)))
