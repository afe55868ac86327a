import torch
import stepcore as step
from sympy import Symbol

D = Symbol("D")
E = Symbol("E")
K = Symbol("K")
M = Symbol("M")
N = Symbol("N")
D_value = 16
K_value = 9
M_value = 5
N_value = 7
ctx = {D: D_value, K: K_value, M: M_value, N: N_value}
torch.manual_seed(42)
E_value = 4
ctx[E] = E_value

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "W": torch.randn((D_value, E_value)),
}

class Gate(step.Fn):
    def __init__(self, input, output):
        super().__init__("Gate", input, output)

    def apply(self, input):
        return [torch.nn.functional.softmax(torch.matmul(input[0], input_data['W']), dim=-1)]


fn_gate = Gate(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))


class Top1(step.Fn):
    def __init__(self, input, output):
        super().__init__("Top1", input, output)

    def apply(self, input):
        best = torch.topk(input[0], 1).indices
        return [torch.zeros_like(input[0]).scatter(0, best, 1.0)]


fn_top1 = Top1(step.Buffer(step.Scalar("float"), [E]), step.Multihot(step.Scalar("float"), E))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1 = step.Map(fn=fn_gate).apply(E0)
    E2, E3 = step.Copy().apply(E1)
    E4 = step.Map(fn=fn_top1).apply(E2)
    return E4, E3


def check():
    E0 = prepare()
    S0, S1 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Multihot(step.Scalar("float"), E)
    assert S0.rank == 1
    gates = torch.softmax(input_data['E0'] @ input_data['W'], dim=-1)
    S0_0 = torch.nn.functional.one_hot(gates.argmax(dim=-1), E_value).to(gates.dtype)
    torch.testing.assert_close(S0.data[0], S0_0)
    assert S1.shape == [M, N]
    assert S1.dtype == step.Buffer(step.Scalar("float"), [E])
    assert S1.rank == 1
    S1_0 = gates
    torch.testing.assert_close(S1.data[0], S1_0)


check()
