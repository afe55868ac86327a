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
epsilon = 1e-6

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
}

class AddSquare(step.Fn):
    def __init__(self, input, output):
        super().__init__("AddSquare", input, output)

    def getInit(self):
        return [torch.zeros(())]

    def apply(self, state, input):
        return [state[0] + input[0] ** 2]


fn_add_square = AddSquare(step.Scalar("float"), step.Scalar("float"))


class InverseRoot(step.Fn):
    def __init__(self, input, output):
        super().__init__("InverseRoot", input, output)

    def apply(self, input):
        return [torch.rsqrt(input[0] / D_value + epsilon)]


fn_inverse_root = InverseRoot(step.Scalar("float"), step.Scalar("float"))


class Multiply(step.Fn):
    def __init__(self, input, output):
        super().__init__("Multiply", input, output)

    def apply(self, input):
        return [input[0] * input[1]]


fn_multiply = Multiply(step.STuple((step.Scalar("float"), step.Scalar("float"))), step.Scalar("float"))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 2, [D, M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1, E2 = step.Copy().apply(E0)
    E3 = step.Accum(fn=fn_add_square, b=1).apply(E1)
    E4 = step.Map(fn=fn_inverse_root).apply(E3)
    E5, E6 = step.Copy().apply(E2)
    E7 = step.RepeatRef().apply((E4, E5))
    E8 = step.Zip().apply((E6, E7))
    E9 = step.Map(fn=fn_multiply).apply(E8)
    return E9


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [D, M, N]
    assert S0.dtype == step.Scalar("float")
    assert S0.rank == 2
    x = input_data['E0']
    S0_0 = x / (x.pow(2).mean(dim=-1, keepdim=True) + epsilon).sqrt()
    torch.testing.assert_close(S0.data[0], S0_0)


check()
