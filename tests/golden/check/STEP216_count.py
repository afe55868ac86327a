from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.program
def program(E0: Annotated[step.Stream, step.i64, (M,)]):
    return step.Map(fn=step.count).apply(E0)
