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

def selectors(shape, least, most):
    rows = torch.zeros(shape)
    for row in rows.view(-1, shape[-1]):
        count = int(torch.randint(least, most + 1, ()))
        row[torch.randperm(shape[-1])[:count]] = 1.0
    return rows


input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "E1": selectors((N_value, E_value), 1, 2),
    "V": torch.randn((D_value,)),
    "W": torch.randn((D_value, D_value)),
}

class Affinity(step.Fn):
    def __init__(self, input, output):
        super().__init__("Affinity", input, output)

    def apply(self, input):
        return [torch.sigmoid((input[0] * input_data['V']).sum())]


fn_affinity = Affinity(step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))


class Scale(step.Fn):
    def __init__(self, input, output):
        super().__init__("Scale", input, output)

    def apply(self, input):
        return [input[0] * (1.0 - input[1])]


fn_scale = Scale(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


class ScaledLayer(step.Fn):
    def __init__(self, input, output):
        super().__init__("ScaledLayer", input, output)

    def apply(self, input):
        return [torch.tanh(input[0] @ input_data['W']) * input[1]]


fn_scaled_layer = ScaledLayer(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


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
    E1 = step.Stream("E1", step.Multihot(step.Scalar("float"), E), 0, [N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2, E3 = step.Copy().apply(E0)
    E4 = step.Map(fn=fn_affinity).apply(E2)
    E5 = step.Zip().apply((E3, E4))
    E6, E7 = step.Copy().apply(E1)
    E8, E9 = step.Partition(N=2).apply((E5, E6))
    E10 = step.Map(fn=fn_scale).apply(E8)
    E11 = step.Map(fn=fn_scaled_layer).apply(E9)
    E12 = step.Merge(fn=fn_add).apply(([E10, E11], E7))
    return E12


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    affinity = torch.sigmoid(x @ input_data['V']).unsqueeze(-1)
    bits = input_data['E1'].unsqueeze(1)
    S0_0 = bits[..., :1] * (1.0 - affinity) * x + bits[..., 1:] * affinity * torch.tanh(x @ input_data['W'])
    torch.testing.assert_close(S0.data[0], S0_0)


check()
