from typing import Annotated

import stepcore as step
from stepcore.dims import B

ROW = step.Tile("fp32", [1, 8])


@step.fn(input=ROW, output=ROW)
def double(input):
    return [input[0] * 2]


def finish(outs, lane_of):
    return step.Flatten(L=[1]).apply(step.Reassemble(order="arrival").apply((outs, lane_of)))


@step.program(dims={B: 8})
def free_lanes(q: Annotated[step.Stream, ROW, (B,)]) -> Annotated[step.Stream, ROW, (B,)]:
    lanes, lane_of = step.Parallelize(N=2, policy="free").apply(q)
    return finish([step.Map(fn=double).apply(lane) for lane in lanes], lane_of)
