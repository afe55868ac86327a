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
    "G": torch.rand((D_value,)),
    "B": torch.randn((D_value,)),
}

class Mean(step.Fn):
    def __init__(self, input, output):
        super().__init__("Mean", input, output)

    def apply(self, input):
        return [input[0].mean()]


fn_mean = Mean(step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))


class Subtract(step.Fn):
    def __init__(self, input, output):
        super().__init__("Subtract", input, output)

    def apply(self, input):
        return [input[0] - input[1]]


fn_subtract = Subtract(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


class Square(step.Fn):
    def __init__(self, input, output):
        super().__init__("Square", input, output)

    def apply(self, input):
        return [input[0].square()]


fn_square = Square(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D]))


class ScaleAndShift(step.Fn):
    def __init__(self, input, output):
        super().__init__("ScaleAndShift", input, output)

    def apply(self, input):
        unit = input[0] * torch.rsqrt(input[1] + 1e-5)
        return [unit * input_data['G'] + input_data['B']]


fn_scale = ScaleAndShift(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1, E2 = step.Copy().apply(E0)
    E3 = step.Map(fn=fn_mean).apply(E1)
    E4 = step.Map(fn=fn_subtract).apply((E2, E3))
    E5, E6 = step.Copy().apply(E4)
    E7 = step.Map(fn=fn_square).apply(E5)
    E8 = step.Map(fn=fn_mean).apply(E7)
    E9 = step.Map(fn=fn_scale).apply((E6, E8))
    return E9


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    S0_0 = torch.nn.functional.layer_norm(input_data['E0'], (D_value,), input_data['G'], input_data['B'], 1e-05)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
