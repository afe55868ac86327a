from typing import Annotated

import stepcore as step
from stepcore.dims import B

ROW = step.Tile("fp32", [1, 8])


def finish(outs, lane_of):
    return step.Flatten(L=[1]).apply(step.Reassemble(order="arrival").apply((outs, lane_of)))


@step.program(dims={B: 8})
def by_routes(
    q: Annotated[step.Stream, ROW, (B,)], route: Annotated[step.Stream, step.Multihot(step.f32, 2), (B,)]
) -> Annotated[step.Stream, ROW, (B,)]:
    s0, s1 = step.Copy().apply(route)
    return finish(step.Partition(N=2).apply((q, s0)), s1)
