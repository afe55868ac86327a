import torch
import stepcore as step
from sympy import Symbol

D = Symbol("D")
K = Symbol("K")
M = Symbol("M")
N = Symbol("N")
D_value = 16
K_value = 9
M_value = 5
N_value = 7
ctx = {D: D_value, K: K_value, M: M_value, N: N_value}
torch.manual_seed(42)


input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
}

class Sum(step.Fn):
    def __init__(self, input, output):
        super().__init__("Sum", input, output)

    def getInit(self):
        return [torch.zeros(())]

    def apply(self, state, input):
        return [state[0] + input[0]]


fn_sum = Sum(step.Scalar("float"), step.Scalar("float"))


class Square(step.Fn):
    def __init__(self, input, output):
        super().__init__("Square", input, output)

    def apply(self, input):
        return [input[0] * input[0]]


fn_square = Square(step.Scalar("float"), step.Scalar("float"))


class OverD(step.Fn):
    def __init__(self, input, output):
        super().__init__("OverD", input, output)

    def apply(self, input):
        return [input[0] / D_value]


fn_over_d = OverD(step.Scalar("float"), step.Scalar("float"))


class Subtract(step.Fn):
    def __init__(self, input, output):
        super().__init__("Subtract", input, output)

    def apply(self, input):
        return [input[0] - input[1]]


fn_subtract = Subtract(step.STuple((step.Scalar("float"), step.Scalar("float"))), step.Scalar("float"))


class InverseDeviation(step.Fn):
    def __init__(self, input, output):
        super().__init__("InverseDeviation", input, output)

    def apply(self, input):
        return [1.0 / torch.sqrt(input[0] + 1e-5)]


fn_inverse = InverseDeviation(step.Scalar("float"), step.Scalar("float"))


class Normalize(step.Fn):
    def __init__(self, input, output):
        super().__init__("Normalize", input, output)

    def apply(self, input):
        x, mean, inverse = input
        return [(x - mean) * inverse]


fn_normalize = Normalize(step.STuple((step.Scalar("float"), step.Scalar("float"), step.Scalar("float"))), step.Scalar("float"))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 2, [D, M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1, E2 = step.Copy().apply(E0)
    E3, E4 = step.Copy().apply(E2)
    E5 = step.Accum(fn=fn_sum, b=1).apply(E1)
    E6 = step.Map(fn=fn_over_d).apply(E5)
    E7 = step.Map(fn=fn_square).apply(E3)
    E8 = step.Accum(fn=fn_sum, b=1).apply(E7)
    E9 = step.Map(fn=fn_over_d).apply(E8)
    E10, E11 = step.Copy().apply(E6)
    E12 = step.Map(fn=fn_square).apply(E10)
    E13 = step.Zip().apply((E9, E12))
    E14 = step.Map(fn=fn_subtract).apply(E13)
    E15 = step.Map(fn=fn_inverse).apply(E14)
    E16 = step.Zip().apply((E11, E15))
    E17 = step.Repeat(n=D).apply(E16)
    E18 = step.Zip().apply((E4, E17))
    E19 = step.Map(fn=fn_normalize).apply(E18)
    return E19


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [D, M, N]
    assert S0.dtype == step.Scalar("float")
    assert S0.rank == 2
    S0_0 = torch.nn.functional.layer_norm(input_data['E0'], (D_value,), eps=1e-05)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
