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
    "E0": torch.randn((M_value, K_value, N_value)),
    "E1": torch.randn((M_value, K_value, D_value)),
}

class AddOuter(step.Fn):
    def __init__(self, input, output):
        super().__init__("AddOuter", input, output)

    def getInit(self):
        return [torch.zeros((N_value, D_value))]

    def apply(self, state, input):
        return [state[0] + torch.outer(input[0], input[1])]


fn_outer = AddOuter(step.STuple((step.Buffer(step.Scalar("float"), [N]), step.Buffer(step.Scalar("float"), [D]))), step.Buffer(step.Scalar("float"), [D, N]))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 2, [N, K, M])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Scalar("float"), 2, [D, K, M])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Bufferize(a=1).apply(E0)
    E3 = step.Bufferize(a=1).apply(E1)
    E4 = step.Zip().apply((E2, E3))
    E5 = step.Accum(fn=fn_outer, b=1).apply(E4)
    E6 = step.Streamify().apply(E5)
    return E6


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [D, N, M]
    assert S0.dtype == step.Scalar("float")
    assert S0.rank == 2
    S0_0 = torch.einsum('mkn,mkd->mnd', input_data['E0'], input_data['E1'])
    torch.testing.assert_close(S0.data[0], S0_0)


check()
