from typing import Annotated

import stepcore as step
from stepcore.dims import K, M


@step.program(dims={M: 8, K: 3})
def program(E0: Annotated[step.Stream, step.Buffer(step.f32, [K]), (M,)]):
    return step.Streamify(shape=[2, K], stride=[1, 2]).apply(E0)
