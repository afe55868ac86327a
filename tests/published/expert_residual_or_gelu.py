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
gelu = torch.nn.GELU()
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
    "E1": selectors((N_value, M_value, E_value), 1, 1),
    "W": torch.randn((D_value, D_value)),
}

class GeluLayer(step.Fn):
    def __init__(self, input, output):
        super().__init__("GeluLayer", input, output)

    def apply(self, input):
        return [gelu(input[0] @ input_data['W'])]


fn_layer = GeluLayer(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D]))


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
    E1 = step.Stream("E1", step.Multihot(step.Scalar("float"), E), 1, [M, N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2, E3 = step.Copy().apply(E1)
    E4 = step.Partition(N=2).apply((E0, E2))
    E5 = step.Map(fn=fn_layer).apply(E4[1])
    E6 = step.Merge(fn=fn_add).apply(([E4[0], E5], E3))
    return E6


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    S0_0 = torch.where(input_data['E1'][..., 1:] > 0, torch.nn.functional.gelu(x @ input_data['W']), x)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
