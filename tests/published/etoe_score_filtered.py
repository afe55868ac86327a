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
    "R": torch.randn((D_value,)),
    "W": torch.randn((D_value, D_value)),
    "B": torch.randn((D_value,)),
}

class AttachScore(step.Fn):
    def __init__(self, input, output):
        super().__init__("AttachScore", input, output)

    def apply(self, input):
        return [input[0], torch.sigmoid(torch.sum(input[0] * input_data['R']))]


fn_attach_score = AttachScore(step.Buffer(step.Scalar("float"), [D]), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class Filter(step.Fn):
    def __init__(self, input, output):
        super().__init__("Filter", input, output)

    def apply(self, input):
        passed = torch.ones_like(input[1]) if input[1] > 0.5 else torch.zeros_like(input[1])
        return [torch.stack([1.0 - passed, passed])]


fn_filter = Filter(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Multihot(step.Scalar("float"), E))


class Keep(step.Fn):
    def __init__(self, input, output):
        super().__init__("Keep", input, output)

    def apply(self, input):
        return [input[0]]


fn_keep = Keep(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


class ScoredLayer(step.Fn):
    def __init__(self, input, output):
        super().__init__("ScoredLayer", input, output)

    def apply(self, input):
        return [torch.nn.functional.relu(input[0] @ input_data['W'] + input_data['B']) * input[1]]


fn_layer = ScoredLayer(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


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
    E1 = step.Map(fn=fn_attach_score).apply(E0)
    E2, E3 = step.Copy().apply(E1)
    E4 = step.Map(fn=fn_filter).apply(E2)
    E5, E6 = step.Copy().apply(E4)
    E7 = step.Partition(N=2).apply((E3, E5))
    E8 = step.Map(fn=fn_keep).apply(E7[0])
    E9 = step.Map(fn=fn_layer).apply(E7[1])
    E10 = step.Merge(fn=fn_add).apply(([E8, E9], E6))
    return E10


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    scores = torch.sigmoid(x @ input_data['R']).unsqueeze(-1)
    layer = torch.relu(torch.nn.functional.linear(x, input_data['W'].T, input_data['B']))
    S0_0 = torch.where(scores > 0.5, scores * layer, x)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
