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
        top = torch.maximum(state[0], input[0])
        return [top, (input[0] - top).exp(), (state[0] - top).exp()]


fn_running = RunningExp(step.Scalar("float"), step.STuple((step.Scalar("float"), step.Scalar("float"), step.Scalar("float"))))


class WeightedSums(step.Fn):
    def __init__(self, input, output):
        super().__init__("WeightedSums", input, output)

    def getInit(self):
        return [torch.zeros(()), torch.zeros((D_value,))]

    def apply(self, state, input):
        top, weight, decay, value = input
        return [state[0] * decay + weight, state[1] * decay + value * weight]


fn_sums = WeightedSums(step.STuple((step.Scalar("float"), step.Scalar("float"), step.Scalar("float"), step.Buffer(step.Scalar("float"), [D]))), step.STuple((step.Scalar("float"), step.Buffer(step.Scalar("float"), [D]))))


class Normalize(step.Fn):
    def __init__(self, input, output):
        super().__init__("Normalize", input, output)

    def apply(self, input):
        return [input[1] / input[0]]


fn_normalize = Normalize(step.STuple((step.Scalar("float"), step.Buffer(step.Scalar("float"), [D]))), step.Buffer(step.Scalar("float"), [D]))


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
    E3 = step.Zip().apply((E2, E1))
    E4 = step.Accum(fn=fn_sums, b=1).apply(E3)
    E5 = step.Map(fn=fn_normalize).apply(E4)
    return E5


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 0
    weights = torch.nn.functional.softmax(input_data['E0'], dim=1)
    S0_0 = torch.bmm(weights.unsqueeze(1), input_data['E1']).squeeze(1)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
