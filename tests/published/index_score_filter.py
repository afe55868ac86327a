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

class Score(step.Fn):
    def __init__(self, input, output):
        super().__init__("Score", input, output)

    def apply(self, input):
        return [(input[0] * input_data['W']).sum().sigmoid()]


fn_score = Score(step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))


class Filter(step.Fn):
    def __init__(self, input, output):
        super().__init__("Filter", input, output)

    def apply(self, input):
        one, zero = torch.ones_like(input[0]), torch.zeros_like(input[0])
        return [torch.stack([zero, one])] if input[0] > 0.5 else [torch.stack([one, zero])]


fn_filter = Filter(step.Scalar("float"), step.Multihot(step.Scalar("float"), E))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1 = step.Map(fn=fn_score).apply(E0)
    E2 = step.Map(fn=fn_filter).apply(E1)
    return E2


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Multihot(step.Scalar("float"), E)
    assert S0.rank == 1
    keep = torch.sigmoid(torch.matmul(input_data['E0'], input_data['W'])) > 0.5
    S0_0 = torch.nn.functional.one_hot(keep.long(), E_value).to(input_data['E0'].dtype)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
