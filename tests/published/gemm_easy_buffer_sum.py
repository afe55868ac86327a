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
    "E0": torch.randn((N_value, K_value, M_value)),
    "E1": torch.rand((N_value, K_value, M_value)),
}

class Multiply(step.Fn):
    def __init__(self, input, output):
        super().__init__("Multiply", input, output)

    def apply(self, input):
        return [torch.mul(input[0], input[1])]


fn_multiply = Multiply(step.STuple((step.Buffer(step.Scalar("float"), [M]), step.Buffer(step.Scalar("float"), [M]))), step.Buffer(step.Scalar("float"), [M]))


class Add(step.Fn):
    def __init__(self, input, output):
        super().__init__("Add", input, output)

    def getInit(self):
        return [torch.zeros((M_value,))]

    def apply(self, state, input):
        return [torch.add(state[0], input[0])]


fn_add = Add(step.Buffer(step.Scalar("float"), [M]), step.Buffer(step.Scalar("float"), [M]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [M]), 1, [K, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Buffer(step.Scalar("float"), [M]), 1, [K, N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Zip().apply((E0, E1))
    E3 = step.Map(fn=fn_multiply).apply(E2)
    E4 = step.Accum(fn=fn_add, b=1).apply(E3)
    return E4


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [M])
    assert S0.rank == 0
    S0_0 = torch.einsum('nkm,nkm->nm', input_data['E0'], input_data['E1'])
    torch.testing.assert_close(S0.data[0], S0_0)


check()
