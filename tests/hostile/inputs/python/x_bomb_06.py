# Many programs.
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def twice(input):
    return [input[0] * 2]


def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@step.program(reference=reference, dims={M: 5, N: 7})
def double0(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double1(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double2(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double3(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double4(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double5(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double6(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double7(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double8(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double9(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double10(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double11(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double12(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double13(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double14(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double15(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double16(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double17(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double18(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double19(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double20(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double21(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double22(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double23(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double24(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double25(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double26(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double27(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double28(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double29(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double30(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double31(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double32(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double33(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double34(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double35(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double36(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double37(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double38(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double39(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double40(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double41(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double42(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double43(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double44(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double45(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double46(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double47(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double48(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double49(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double50(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double51(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double52(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double53(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double54(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double55(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double56(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double57(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double58(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double59(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double60(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double61(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double62(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double63(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double64(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double65(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double66(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double67(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double68(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double69(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double70(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double71(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double72(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double73(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double74(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double75(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double76(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double77(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double78(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double79(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double80(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double81(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double82(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double83(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double84(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double85(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double86(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double87(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double88(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double89(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double90(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double91(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double92(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double93(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double94(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double95(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double96(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double97(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double98(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double99(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double100(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double101(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double102(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double103(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double104(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double105(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double106(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double107(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double108(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double109(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double110(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double111(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double112(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double113(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double114(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double115(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double116(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double117(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double118(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double119(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double120(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double121(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double122(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double123(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double124(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double125(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double126(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double127(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double128(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double129(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double130(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double131(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double132(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double133(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double134(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double135(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double136(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double137(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double138(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double139(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double140(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double141(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double142(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double143(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double144(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double145(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double146(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double147(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double148(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double149(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double150(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double151(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double152(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double153(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double154(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double155(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double156(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double157(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double158(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double159(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double160(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double161(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double162(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double163(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double164(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double165(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double166(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double167(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double168(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double169(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double170(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double171(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double172(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double173(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double174(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double175(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double176(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double177(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double178(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double179(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double180(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double181(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double182(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double183(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double184(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double185(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double186(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double187(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double188(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double189(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double190(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double191(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double192(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double193(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double194(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double195(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double196(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double197(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double198(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double199(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double200(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double201(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double202(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double203(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double204(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double205(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double206(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double207(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double208(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double209(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double210(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double211(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double212(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double213(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double214(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double215(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double216(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double217(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double218(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double219(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double220(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double221(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double222(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double223(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double224(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double225(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double226(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double227(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double228(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double229(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double230(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double231(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double232(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double233(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double234(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double235(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double236(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double237(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double238(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double239(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double240(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double241(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double242(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double243(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double244(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double245(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double246(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double247(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double248(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double249(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double250(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double251(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double252(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double253(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double254(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double255(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double256(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double257(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double258(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double259(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double260(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double261(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double262(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double263(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double264(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double265(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double266(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double267(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double268(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double269(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double270(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double271(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double272(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double273(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double274(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double275(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double276(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double277(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double278(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double279(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double280(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double281(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double282(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double283(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double284(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double285(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double286(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double287(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double288(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double289(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double290(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double291(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double292(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double293(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double294(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double295(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double296(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double297(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double298(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)


@step.program(reference=reference, dims={M: 5, N: 7})
def double299(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)
