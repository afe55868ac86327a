from typing import Annotated

import stepcore as step
from stepcore.dims import M, N

L = step.ragged("L")


@step.program(dims={M: 8, N: 6}, sizes={"~L": (0, 4)})
def program(
    E0: Annotated[step.Stream, step.f32, (L, N, M)],
) -> Annotated[step.Stream, step.Buffer(step.f32, [step.dyn("A"), step.dyn("B")]), (M,)]:
    return step.Bufferize(a=2).apply(E0)
