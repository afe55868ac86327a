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
capacity = 3

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "W": torch.randn((D_value, E_value)),
}

class Affinity(step.Fn):
    def __init__(self, input, output):
        super().__init__("Affinity", input, output)

    def apply(self, input):
        return [(input[0] @ input_data['W'] / D_value ** 0.5).softmax(dim=-1)]


fn_affinity = Affinity(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))


class Transpose(step.Fn):
    def __init__(self, input, output):
        super().__init__("Transpose", input, output)

    def apply(self, input):
        return [input[0].T]


fn_transpose = Transpose(step.Buffer(step.Scalar("float"), [E, M]), step.Buffer(step.Scalar("float"), [M, E]))


class TopTokens(step.Fn):
    def __init__(self, input, output):
        super().__init__("TopTokens", input, output)

    def apply(self, input):
        values, places = torch.topk(input[0], capacity)
        return [torch.zeros_like(input[0]).scatter(0, places, 1.0)]


fn_top_tokens = TopTokens(step.Buffer(step.Scalar("float"), [M]), step.Multihot(step.Scalar("float"), M))


class TransposeBack(step.Fn):
    def __init__(self, input, output):
        super().__init__("TransposeBack", input, output)

    def apply(self, input):
        return [torch.transpose(input[0], 0, 1)]


fn_transpose_back = TransposeBack(step.Buffer(step.Multihot(step.Scalar("float"), M), [E]), step.Buffer(step.Multihot(step.Scalar("float"), E), [M]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1 = step.Map(fn=fn_affinity).apply(E0)
    E2 = step.Bufferize(a=1).apply(E1)
    E3 = step.Map(fn=fn_transpose).apply(E2)
    E4 = step.Streamify().apply(E3)
    E5 = step.Bufferize(a=1).apply(E4)
    E6 = step.Map(fn=fn_top_tokens).apply(E5)
    E7 = step.Bufferize(a=1).apply(E6)
    E8 = step.Map(fn=fn_transpose_back).apply(E7)
    E9 = step.Streamify().apply(E8)
    return E9


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Multihot(step.Scalar("float"), E)
    assert S0.rank == 1
    logits = torch.matmul(input_data['E0'], input_data['W']) / D_value ** 0.5
    affinity = torch.nn.functional.softmax(logits, dim=-1)
    order = affinity.argsort(dim=1, descending=True)
    S0_0 = torch.zeros_like(affinity).scatter(1, order[:, :capacity], 1.0)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
