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
    "E0": torch.randn((M_value, N_value, K_value)),
    "E1": torch.randn((M_value, D_value, K_value)),
}

class Dot(step.Fn):
    def __init__(self, input, output):
        super().__init__("Dot", input, output)

    def apply(self, input):
        return [torch.dot(input[0], input[1])]


fn_dot = Dot(step.STuple((step.Buffer(step.Scalar("float"), [K]), step.Buffer(step.Scalar("float"), [K]))), step.Scalar("float"))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [K]), 1, [N, M])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Buffer(step.Scalar("float"), [K]), 1, [D, M])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Bufferize(a=1).apply(E1)
    E3 = step.Repeat(n=N).apply(E2)
    E4 = step.Streamify().apply(E3)
    E5 = step.Bufferize(a=1).apply(E4)
    E6, E7 = step.Copy().apply(E5)
    E8 = step.RepeatRef().apply((E0, E6))
    E9 = step.Map(fn=fn_dot).apply((E8, E7))
    return E9


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [D, N, M]
    assert S0.dtype == step.Scalar("float")
    assert S0.rank == 2
    S0_0 = input_data['E0'] @ input_data['E1'].transpose(1, 2)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
