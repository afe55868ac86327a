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
depth = 3

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "R": torch.randn((D_value,)),
    "U": torch.randn((D_value, K_value)),
    "V": torch.randn((K_value, D_value)),
}

class Score(step.Fn):
    def __init__(self, input, output):
        super().__init__("Score", input, output)

    def apply(self, input):
        return [torch.sigmoid(torch.dot(input[0], input_data['R']) / D_value ** 0.5)]


fn_score = Score(step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))


class TopTokens(step.Fn):
    def __init__(self, input, output):
        super().__init__("TopTokens", input, output)

    def apply(self, input):
        places = torch.topk(input[0], depth).indices
        through = torch.zeros_like(input[0]).scatter(0, places, 1.0)
        return [torch.stack([1.0 - through, through], dim=1)]


fn_top_tokens = TopTokens(step.Buffer(step.Scalar("float"), [M]), step.Buffer(step.Multihot(step.Scalar("float"), E), [M]))


class Around(step.Fn):
    def __init__(self, input, output):
        super().__init__("Around", input, output)

    def apply(self, input):
        return [input[0]]


fn_around = Around(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


class Through(step.Fn):
    def __init__(self, input, output):
        super().__init__("Through", input, output)

    def apply(self, input):
        block = torch.nn.functional.gelu(input[0] @ input_data['U']) @ input_data['V']
        return [input[0] + input[1] * block]


fn_through = Through(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


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
    E3 = step.Map(fn=fn_score).apply(E1)
    E4, E5 = step.Copy().apply(E3)
    E6 = step.Bufferize(a=1).apply(E4)
    E7 = step.Map(fn=fn_top_tokens).apply(E6)
    E8 = step.Streamify().apply(E7)
    E9, E10 = step.Copy().apply(E8)
    E11 = step.Zip().apply((E2, E5))
    E12 = step.Partition(N=2).apply((E11, E9))
    E13 = step.Map(fn=fn_around).apply(E12[0])
    E14 = step.Map(fn=fn_through).apply(E12[1])
    E15 = step.Merge(fn=fn_add).apply(([E13, E14], E10))
    return E15


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    scores = torch.sigmoid(x @ input_data['R'] / D_value ** 0.5)
    ranks = scores.argsort(dim=-1, descending=True).argsort(dim=-1)
    weights = torch.where(ranks < depth, scores, 0.0).unsqueeze(-1)
    S0_0 = x + weights * (torch.nn.functional.gelu(x @ input_data['U']) @ input_data['V'])
    torch.testing.assert_close(S0.data[0], S0_0)


check()
