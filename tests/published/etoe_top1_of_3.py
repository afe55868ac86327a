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
E_value = 3
ctx[E] = E_value
gelu = torch.nn.GELU()

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "G": torch.randn((D_value, E_value)),
    "W0": torch.randn((D_value, D_value)),
    "W1": torch.randn((D_value, D_value)),
    "W2": torch.randn((D_value, D_value)),
}

class Gate(step.Fn):
    def __init__(self, input, output):
        super().__init__("Gate", input, output)

    def apply(self, input):
        return [torch.softmax(input[0] @ input_data['G'], dim=-1)]


fn_gate = Gate(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))


class Top1(step.Fn):
    def __init__(self, input, output):
        super().__init__("Top1", input, output)

    def apply(self, input):
        return [torch.zeros_like(input[0]).scatter(0, torch.topk(input[0], 1).indices, 1.0)]


fn_top1 = Top1(step.Buffer(step.Scalar("float"), [E]), step.Multihot(step.Scalar("float"), E))


class Expert0(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert0", input, output)

    def apply(self, input):
        return [input[1][0] * gelu(input[0] @ input_data['W0'])]


fn_expert0 = Expert0(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.Buffer(step.Scalar("float"), [D]))


class Expert1(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert1", input, output)

    def apply(self, input):
        return [input[1][1] * gelu(input[0] @ input_data['W1'])]


fn_expert1 = Expert1(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.Buffer(step.Scalar("float"), [D]))


class Expert2(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert2", input, output)

    def apply(self, input):
        return [input[1][2] * gelu(input[0] @ input_data['W2'])]


fn_expert2 = Expert2(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.Buffer(step.Scalar("float"), [D]))


class Add(step.Fn):
    def __init__(self, input, output):
        super().__init__("Add", input, output)

    def getInit(self):
        return [torch.zeros((D_value,))]

    def apply(self, state, input):
        return [state[0] + input[0]]


fn_add = Add(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1, E2 = step.Copy().apply(E0)
    E3 = step.Map(fn=fn_gate).apply(E1)
    E4, E5 = step.Copy().apply(E3)
    E6 = step.Map(fn=fn_top1).apply(E4)
    E7, E8 = step.Copy().apply(E6)
    E9 = step.Zip().apply((E2, E5))
    E10, E11, E12 = step.Partition(N=3).apply((E9, E7))
    E13 = step.Map(fn=fn_expert0).apply(E10)
    E14 = step.Map(fn=fn_expert1).apply(E11)
    E15 = step.Map(fn=fn_expert2).apply(E12)
    E16 = step.Merge(fn=fn_add).apply(([E13, E14, E15], E8))
    return E16


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    gates, best = torch.nn.functional.softmax(torch.matmul(x, input_data['G']), dim=-1).max(dim=-1, keepdim=True)
    layers = torch.stack([torch.nn.functional.gelu(x @ input_data[f'W{i}']) for i in range(E_value)], dim=-1)
    places = best.unsqueeze(-1).expand(N_value, M_value, D_value, 1)
    S0_0 = gates * layers.gather(-1, places).squeeze(-1)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
