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
E_value = 2
ctx[E] = E_value

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "W": torch.randn((D_value,)),
}

class Gate(step.Fn):
    def __init__(self, input, output):
        super().__init__("Gate", input, output)

    def apply(self, input):
        return [torch.sigmoid(torch.dot(input[0], input_data['W']) / D_value ** 0.5)]


fn_gate = Gate(step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))


class Top3(step.Fn):
    def __init__(self, input, output):
        super().__init__("Top3", input, output)

    def apply(self, input):
        chosen = torch.zeros_like(input[0])
        chosen.scatter_(0, input[0].topk(3).indices, 1.0)
        return [torch.stack([1.0 - chosen, chosen], dim=-1)]


fn_top3 = Top3(step.Buffer(step.Scalar("float"), [M]), step.Buffer(step.Multihot(step.Scalar("float"), E), [M]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1 = step.Map(fn=fn_gate).apply(E0)
    E2 = step.Bufferize(a=1).apply(E1)
    E3, E4 = step.Copy().apply(E2)
    E5 = step.Map(fn=fn_top3).apply(E3)
    return E5, E4


def check():
    E0 = prepare()
    S0, S1 = prog(E0)
    assert S0.shape == [N]
    assert S0.dtype == step.Buffer(step.Multihot(step.Scalar("float"), E), [M])
    assert S0.rank == 0
    gates = torch.sigmoid(input_data['E0'] @ input_data['W'] / D_value ** 0.5)
    bar = gates.sort(dim=-1, descending=True).values[:, 2:3]
    S0_0 = torch.stack([gates < bar, gates >= bar], dim=-1).to(gates.dtype)
    torch.testing.assert_close(S0.data[0], S0_0)
    assert S1.shape == [N]
    assert S1.dtype == step.Buffer(step.Scalar("float"), [M])
    assert S1.rank == 0
    S1_0 = gates
    torch.testing.assert_close(S1.data[0], S1_0)


check()
