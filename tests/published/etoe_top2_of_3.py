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

input_data = {
    "E0": torch.randn((M_value, D_value)),
    "G": torch.randn((D_value, E_value)),
    "U": torch.randn((E_value, D_value, K_value)),
    "V": torch.randn((E_value, K_value, D_value)),
}

class Weights(step.Fn):
    def __init__(self, input, output):
        super().__init__("Weights", input, output)

    def apply(self, input):
        values, places = torch.topk(torch.matmul(input[0], input_data['G']), 2)
        empty = torch.zeros(E_value, dtype=values.dtype)
        return [empty.scatter(0, places, torch.softmax(values, dim=0))]


fn_weights = Weights(step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))


class Chosen(step.Fn):
    def __init__(self, input, output):
        super().__init__("Chosen", input, output)

    def apply(self, input):
        return [torch.where(input[0] > 0, torch.ones_like(input[0]), torch.zeros_like(input[0]))]


fn_chosen = Chosen(step.Buffer(step.Scalar("float"), [E]), step.Multihot(step.Scalar("float"), E))


class Expert0(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert0", input, output)

    def apply(self, input):
        hidden = torch.nn.functional.silu(input[0] @ input_data['U'][0])
        return [hidden @ input_data['V'][0], input[1][0]]


fn_expert0 = Expert0(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class Expert1(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert1", input, output)

    def apply(self, input):
        hidden = torch.nn.functional.silu(input[0] @ input_data['U'][1])
        return [hidden @ input_data['V'][1], input[1][1]]


fn_expert1 = Expert1(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class Expert2(step.Fn):
    def __init__(self, input, output):
        super().__init__("Expert2", input, output)

    def apply(self, input):
        hidden = torch.nn.functional.silu(input[0] @ input_data['U'][2])
        return [hidden @ input_data['V'][2], input[1][2]]


fn_expert2 = Expert2(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [E]))), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))))


class WeightedSum(step.Fn):
    def __init__(self, input, output):
        super().__init__("WeightedSum", input, output)

    def getInit(self):
        return [torch.zeros((D_value,))]

    def apply(self, state, input):
        return [state[0] + input[0] * input[1]]


fn_weighted_sum = WeightedSum(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 0, [M])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    return E0


def prog(E0):
    E1, E2 = step.Copy().apply(E0)
    E3 = step.Map(fn=fn_weights).apply(E1)
    E4, E5 = step.Copy().apply(E3)
    E6 = step.Map(fn=fn_chosen).apply(E4)
    E7, E8 = step.Copy().apply(E6)
    E9 = step.Zip().apply((E2, E5))
    E10 = step.Partition(N=3).apply((E9, E7))
    E11 = [step.Map(fn=f).apply(x) for f, x in zip([fn_expert0, fn_expert1, fn_expert2], E10)]
    E12 = step.Merge(fn=fn_weighted_sum).apply((E11, E8))
    return E12


def check():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [M]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 0
    x = input_data['E0']
    logits = x @ input_data['G']
    second = logits.sort(dim=-1, descending=True).values[:, 1:2]
    kept = torch.softmax(logits, dim=-1) * (logits >= second)
    gates = kept / kept.sum(dim=-1, keepdim=True)
    hidden = torch.nn.functional.silu(torch.einsum('md,edk->mek', x, input_data['U']))
    S0_0 = torch.einsum('mek,ekd,me->md', hidden, input_data['V'], gates)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
