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

def selectors(shape, least, most):
    rows = torch.zeros(shape)
    for row in rows.view(-1, shape[-1]):
        count = int(torch.randint(least, most + 1, ()))
        row[torch.randperm(shape[-1])[:count]] = 1.0
    return rows


input_data = {
    "E0": torch.randn((M_value, D_value)),
    "E1": torch.rand((M_value, E_value)),
    "E2": selectors((M_value, E_value), 0, 2),
    "W0": torch.randn((D_value, D_value)),
    "W1": torch.randn((D_value, D_value)),
    "W2": torch.randn((D_value, D_value)),
}

class Expert0(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert0", input, output)

    def apply(self, input):
        return [torch.relu(torch.matmul(input[0], input_data['W0'])), input[1][0]]


fn_expert0 = Expert0(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class Expert1(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert1", input, output)

    def apply(self, input):
        return [torch.relu(torch.matmul(input[0], input_data['W1'])), input[1][1]]


fn_expert1 = Expert1(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class Expert2(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert2", input, output)

    def apply(self, input):
        return [torch.relu(torch.matmul(input[0], input_data['W2'])), input[1][2]]


fn_expert2 = Expert2(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class WeightedSum(step.Fn):
    def __init__(self, input, output):
        super().__init__("WeightedSum", input, output)

    def getInit(self):
        return [torch.zeros((D_value,))]

    def apply(self, state, input):
        return [state[0] + input[1] * input[0]]


fn_weighted_sum = WeightedSum(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 0, [M])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Buffer(step.Scalar("float"), [E]), 0, [M])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    E2 = step.Stream("E2", step.Multihot(step.Scalar("float"), E), 0, [M])
    E2.ctx = ctx
    E2.data = [input_data["E2"]]
    return E0, E1, E2


def prog(E0, E1, E2):
    E3, E4 = step.Copy().apply(E2)
    E5 = step.Zip().apply((E0, E1))
    E6 = step.Partition(N=3).apply((E5, E3))
    E7 = [step.Map(fn=f).apply(x) for f, x in zip([fn_expert0, fn_expert1, fn_expert2], E6)]
    E8 = step.Merge(fn=fn_weighted_sum).apply((E7, E4))
    return E8


def check():
    E0, E1, E2 = prepare()
    S0 = prog(E0, E1, E2)
    assert S0.shape == [M]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 0
    weights = torch.stack([input_data[f'W{i}'] for i in range(E_value)])
    layers = torch.relu(torch.einsum('md,edk->mek', input_data['E0'], weights))
    S0_0 = (layers * (input_data['E1'] * input_data['E2']).unsqueeze(-1)).sum(dim=1)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
