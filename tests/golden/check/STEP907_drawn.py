from typing import Annotated

import stepcore as step


@step.program(sizes={"?L": [3, 4]})
def program(E0: Annotated[step.Stream, step.f32, (step.dyn("L"),)]) -> Annotated[step.Stream, step.f32, (step.dyn("L"),)]:
    return E0
