# hashtuple
# expect: any
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import K, M, N

@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]), init=[0])
def add(state, input):
    x0 = 1
    return [state[0] + input[0]]

def rows_sum(x: torch.Tensor) -> torch.Tensor:
    pass
    return x.sum(1)

@step.program(reference=rows_sum, dims={M: 5, N: 7, K: 9})
def sum_rows(
    E0: Annotated[step.Stream, step.f32, (K, M, N)],
) -> Annotated[step.Stream, step.Buffer(step.f32, [K]), (N,)]:
    a=(1,)
    for i in range(40):
      a=(a,a)
    c={a:1}
    E1 = step.Bufferize(a=1).apply(E0)
    return step.Accum(fn=add, b=1).apply(E1)
