"""An expert of SwiGLU in static tiles, off-chip memory included: x, gate, up and down projections, tile by tile."""

from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import B, D, F

TM, TN = 16, 64
X, W = step.Tile("fp32", [TM, D]), step.Tile("fp32", [D, TN])
H, V = step.Tile("fp32", [TM, TN]), step.Tile("fp32", [TN, D])


@step.fn(input=(X, W), output=H, init=[0])
def up(state, input):
    return [state[0] + input[0] @ input[1]]


@step.fn(input=(H, V), output=X, init=[0])
def down(state, input):
    return [state[0] + input[0] @ input[1]]


@step.fn(input=H, output=H)
def act(input):
    return [torch.nn.functional.silu(input[0])]


@step.fn(input=(H, H), output=H)
def mul(input):
    return [input[0] * input[1]]


def swiglu(
    x: torch.Tensor, wg: torch.Tensor, wu: torch.Tensor, wd: torch.Tensor
) -> torch.Tensor:  # (B, D), (D, F), (D, F), (F, D)
    return ((torch.nn.functional.silu(x @ wg) * (x @ wu)) @ wd).reshape(-1, 1, TM, x.shape[1])


@step.program(reference=swiglu, dims={B: 64, D: 256, F: 512})
def expert(
    *,
    x: Annotated[step.Param, step.f32, (D, B)],
    wg: Annotated[step.Param, step.f32, (F, D)],
    wu: Annotated[step.Param, step.f32, (F, D)],
    wd: Annotated[step.Param, step.f32, (D, F)],
) -> Annotated[step.Stream, X, (1, B // TM)]:
    n, m = F // TN, B // TM
    E0 = step.LinearOffChipLoad(tensor=x, tile=[TM, D], shape=[1, n, m], stride=[1, 0, 1]).apply()
    E1 = step.LinearOffChipLoad(tensor=wg, tile=[D, TN], shape=[1, n, m], stride=[n, 1, 0]).apply()
    E2 = step.LinearOffChipLoad(tensor=wu, tile=[D, TN], shape=[1, n, m], stride=[n, 1, 0]).apply()
    E3 = step.LinearOffChipLoad(tensor=wd, tile=[TN, D], shape=[n, 1, m], stride=[1, 0, 0]).apply()
    E4, E5 = step.Copy().apply(E0)
    E6 = step.Map(fn=act).apply(step.Accum(fn=up, b=1).apply((E4, E1)))
    E7 = step.Map(fn=mul).apply((E6, step.Accum(fn=up, b=1).apply((E5, E2))))
    return step.Accum(fn=down, b=1).apply((step.Promote(b=1).apply(E7), E3))
