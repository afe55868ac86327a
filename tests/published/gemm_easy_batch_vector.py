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
    "E0": torch.randn((N_value, M_value, K_value)),
    "E1": torch.randn((N_value, K_value)),
}

class MultiplyAdd(step.Fn):
    def __init__(self, input, output):
        super().__init__("MultiplyAdd", input, output)

    def getInit(self):
        return [torch.zeros(())]

    def apply(self, state, input):
        return [state[0] + input[0] * input[1]]


fn_multiply_add = MultiplyAdd(step.STuple((step.Scalar("float"), step.Scalar("float"))), step.Scalar("float"))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 2, [K, M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Scalar("float"), 1, [K, N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Bufferize(a=1).apply(E1)
    E3 = step.Repeat(n=M).apply(E2)
    E4 = step.Streamify().apply(E3)
    E5 = step.Zip().apply((E0, E4))
    E6 = step.Accum(fn=fn_multiply_add, b=1).apply(E5)
    return E6


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Scalar("float")
    assert S0.rank == 1
    S0_0 = torch.bmm(input_data['E0'], input_data['E1'].unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
