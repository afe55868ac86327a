from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.program(dims={M: 8, D: 6}, sizes={"~L": (0, 4)})
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [1, D]), (step.ragged("L"), M)],
    E1: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)],
):
    E2, E3 = step.Partition(N=2).apply((E0, E1))
    return E3, step.Retile(axis=0).apply(E2)
