# helper ladder
# expect: STEP221
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N, K, D


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] + 1.0]


@step.program
def p(E0: Annotated[step.Stream, step.f32, (M, N)], E1: Annotated[step.Stream, step.f32, (M, N)]):
    def h0(x):
        return x
    def h1(x):
        return [h0(x), h0(x)]
    def h2(x):
        return [h1(x), h1(x)]
    def h3(x):
        return [h2(x), h2(x)]
    def h4(x):
        return [h3(x), h3(x)]
    def h5(x):
        return [h4(x), h4(x)]
    def h6(x):
        return [h5(x), h5(x)]
    def h7(x):
        return [h6(x), h6(x)]
    def h8(x):
        return [h7(x), h7(x)]
    def h9(x):
        return [h8(x), h8(x)]
    def h10(x):
        return [h9(x), h9(x)]
    def h11(x):
        return [h10(x), h10(x)]
    def h12(x):
        return [h11(x), h11(x)]
    def h13(x):
        return [h12(x), h12(x)]
    def h14(x):
        return [h13(x), h13(x)]
    def h15(x):
        return [h14(x), h14(x)]
    def h16(x):
        return [h15(x), h15(x)]
    def h17(x):
        return [h16(x), h16(x)]
    def h18(x):
        return [h17(x), h17(x)]
    def h19(x):
        return [h18(x), h18(x)]
    def h20(x):
        return [h19(x), h19(x)]
    def h21(x):
        return [h20(x), h20(x)]
    def h22(x):
        return [h21(x), h21(x)]
    def h23(x):
        return [h22(x), h22(x)]
    def h24(x):
        return [h23(x), h23(x)]
    def h25(x):
        return [h24(x), h24(x)]
    def h26(x):
        return [h25(x), h25(x)]
    def h27(x):
        return [h26(x), h26(x)]
    def h28(x):
        return [h27(x), h27(x)]
    def h29(x):
        return [h28(x), h28(x)]
    def h30(x):
        return [h29(x), h29(x)]
    def h31(x):
        return [h30(x), h30(x)]
    def h32(x):
        return [h31(x), h31(x)]
    def h33(x):
        return [h32(x), h32(x)]
    def h34(x):
        return [h33(x), h33(x)]
    def h35(x):
        return [h34(x), h34(x)]
    def h36(x):
        return [h35(x), h35(x)]
    def h37(x):
        return [h36(x), h36(x)]
    def h38(x):
        return [h37(x), h37(x)]
    return h38(E0)


