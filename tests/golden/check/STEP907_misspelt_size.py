from typing import Annotated

import stepcore as step


@step.program(sizes={"?S": (0, 3)})
def program(
    E0: Annotated[step.Stream, step.f32, (step.dyn("T"),)]
) -> Annotated[step.Stream, step.f32, (step.dyn("T"),)]:
    return E0
