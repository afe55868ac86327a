# expect: STEP411
# Each line is plain but the last, which stands on several: no way to read forty comments may be tried against another.
from typing import Annotated

import stepcore as step
from stepcore.dims import M


@step.fn(input=step.f32, output=step.f32)
def fn_add(input):
    return [input[0] + 1]


@step.program()
def many(y0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    # line 1: x = x + 1
    y1 = step.Map(fn=fn_add).apply(y0)
    # line 2: x = x + 1
    y2 = step.Map(fn=fn_add).apply(y1)
    # line 3: x = x + 1
    y3 = step.Map(fn=fn_add).apply(y2)
    # line 4: x = x + 1
    y4 = step.Map(fn=fn_add).apply(y3)
    # line 5: x = x + 1
    y5 = step.Map(fn=fn_add).apply(y4)
    # line 6: x = x + 1
    y6 = step.Map(fn=fn_add).apply(y5)
    # line 7: x = x + 1
    y7 = step.Map(fn=fn_add).apply(y6)
    # line 8: x = x + 1
    y8 = step.Map(fn=fn_add).apply(y7)
    # line 9: x = x + 1
    y9 = step.Map(fn=fn_add).apply(y8)
    # line 10: x = x + 1
    y10 = step.Map(fn=fn_add).apply(y9)
    # line 11: x = x + 1
    y11 = step.Map(fn=fn_add).apply(y10)
    # line 12: x = x + 1
    y12 = step.Map(fn=fn_add).apply(y11)
    # line 13: x = x + 1
    y13 = step.Map(fn=fn_add).apply(y12)
    # line 14: x = x + 1
    y14 = step.Map(fn=fn_add).apply(y13)
    # line 15: x = x + 1
    y15 = step.Map(fn=fn_add).apply(y14)
    # line 16: x = x + 1
    y16 = step.Map(fn=fn_add).apply(y15)
    # line 17: x = x + 1
    y17 = step.Map(fn=fn_add).apply(y16)
    # line 18: x = x + 1
    y18 = step.Map(fn=fn_add).apply(y17)
    # line 19: x = x + 1
    y19 = step.Map(fn=fn_add).apply(y18)
    # line 20: x = x + 1
    y20 = step.Map(fn=fn_add).apply(y19)
    # line 21: x = x + 1
    y21 = step.Map(fn=fn_add).apply(y20)
    # line 22: x = x + 1
    y22 = step.Map(fn=fn_add).apply(y21)
    # line 23: x = x + 1
    y23 = step.Map(fn=fn_add).apply(y22)
    # line 24: x = x + 1
    y24 = step.Map(fn=fn_add).apply(y23)
    # line 25: x = x + 1
    y25 = step.Map(fn=fn_add).apply(y24)
    # line 26: x = x + 1
    y26 = step.Map(fn=fn_add).apply(y25)
    # line 27: x = x + 1
    y27 = step.Map(fn=fn_add).apply(y26)
    # line 28: x = x + 1
    y28 = step.Map(fn=fn_add).apply(y27)
    # line 29: x = x + 1
    y29 = step.Map(fn=fn_add).apply(y28)
    # line 30: x = x + 1
    y30 = step.Map(fn=fn_add).apply(y29)
    # line 31: x = x + 1
    y31 = step.Map(fn=fn_add).apply(y30)
    # line 32: x = x + 1
    y32 = step.Map(fn=fn_add).apply(y31)
    # line 33: x = x + 1
    y33 = step.Map(fn=fn_add).apply(y32)
    # line 34: x = x + 1
    y34 = step.Map(fn=fn_add).apply(y33)
    # line 35: x = x + 1
    y35 = step.Map(fn=fn_add).apply(y34)
    # line 36: x = x + 1
    y36 = step.Map(fn=fn_add).apply(y35)
    # line 37: x = x + 1
    y37 = step.Map(fn=fn_add).apply(y36)
    # line 38: x = x + 1
    y38 = step.Map(fn=fn_add).apply(y37)
    # line 39: x = x + 1
    y39 = step.Map(fn=fn_add).apply(y38)
    # line 40: x = x + 1
    y40 = step.Map(fn=fn_add).apply(y39)
    y = step.Map(fn=fn_add).apply(
        y40
    )
    return y
