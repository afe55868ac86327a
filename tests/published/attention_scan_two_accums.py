import torch
import stepcore as step
from sympy import Symbol

D = Symbol("D")
K = Symbol("K")
M = Symbol("M")
N = Symbol("N")
D_value = 16
K_value = 9
M_value = 5
N_value = 7
ctx = {D: D_value, K: K_value, M: M_value, N: N_value}
torch.manual_seed(42)


input_data = {
    "E0": torch.randn((N_value, M_value)),
    "E1": torch.randn((N_value, M_value, D_value)),
}

class RunningExp(step.Fn):
    def __init__(self, input, output):
        super().__init__("RunningExp", input, output)

    def getInit(self):
        return [torch.full((), float("-inf")), torch.zeros(()), torch.zeros(())]

    def apply(self, state, input):
        top = state[0].maximum(input[0])
        return [top, torch.exp(input[0] - top), torch.exp(state[0] - top)]


fn_running = RunningExp(step.Scalar("float"), step.STuple((step.Scalar("float"), step.Scalar("float"), step.Scalar("float"))))


class Numerator(step.Fn):
    def __init__(self, input, output):
        super().__init__("Numerator", input, output)

    def getInit(self):
        return [torch.zeros((D_value,))]

    def apply(self, state, input):
        return [torch.add(state[0] * input[2], input[3] * input[1])]


fn_numerator = Numerator(step.STuple((step.Scalar("float"), step.Scalar("float"), step.Scalar("float"), step.Buffer(step.Scalar("float"), [D]))), step.Buffer(step.Scalar("float"), [D]))


class Denominator(step.Fn):
    def __init__(self, input, output):
        super().__init__("Denominator", input, output)

    def getInit(self):
        return [torch.zeros(())]

    def apply(self, state, input):
        return [torch.add(state[0] * input[2], input[1])]


fn_denominator = Denominator(step.STuple((step.Scalar("float"), step.Scalar("float"), step.Scalar("float"))), step.Scalar("float"))


class Divide(step.Fn):
    def __init__(self, input, output):
        super().__init__("Divide", input, output)

    def apply(self, input):
        return [torch.div(input[0], input[1])]


fn_divide = Divide(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Scalar("float"))), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Scan(fn=fn_running, b=1).apply(E0)
    E3, E4 = step.Copy().apply(E2)
    E5 = step.Zip().apply((E3, E1))
    E6 = step.Accum(fn=fn_numerator, b=1).apply(E5)
    E7 = step.Accum(fn=fn_denominator, b=1).apply(E4)
    E8 = step.Zip().apply((E6, E7))
    E9 = step.Map(fn=fn_divide).apply(E8)
    return E9


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 0
    scores = input_data['E0']
    shifted = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
    weights = shifted / shifted.sum(dim=-1, keepdim=True)
    S0_0 = (weights.unsqueeze(-1) * input_data['E1']).sum(dim=1)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
