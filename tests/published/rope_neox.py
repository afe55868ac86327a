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
    "E0": torch.randn((N_value, M_value, D_value)),
    "E1": torch.ones((N_value, M_value)),
}

class Count(step.Fn):
    def __init__(self, input, output):
        super().__init__("Count", input, output)

    def getInit(self):
        return [torch.full((), float("-1.0"))]

    def apply(self, state, input):
        return [state[0] + input[0]]


fn_count = Count(step.Scalar("float"), step.Scalar("float"))


class CosSin(step.Fn):
    def __init__(self, input, output):
        super().__init__("CosSin", input, output)

    def apply(self, input):
        exponents = torch.arange(0, D_value, 2, dtype=input[0].dtype) / D_value
        half = input[0] / torch.pow(10000.0, exponents)
        angles = torch.cat([half, half])
        return [torch.cos(angles), torch.sin(angles)]


fn_cos_sin = CosSin(step.Scalar("float"), step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D]))))


class RotateHalves(step.Fn):
    def __init__(self, input, output):
        super().__init__("RotateHalves", input, output)

    def apply(self, input):
        x, cos, sin = input
        half = D_value // 2
        turned = torch.cat([-x[half:], x[:half]])
        return [x * cos + turned * sin]


fn_rotate = RotateHalves(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D]))), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Scalar("float"), 1, [M, N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Scan(fn=fn_count, b=1).apply(E1)
    E3 = step.Map(fn=fn_cos_sin).apply(E2)
    E4 = step.Zip().apply((E0, E3))
    E5 = step.Map(fn=fn_rotate).apply(E4)
    return E5


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    first, second = x.chunk(2, dim=-1)
    rates = 10000.0 ** (-torch.arange(0, D_value, 2, dtype=x.dtype) / D_value)
    angles = torch.outer(torch.arange(M_value, dtype=x.dtype), rates)
    cos, sin = (angles.cos(), angles.sin())
    S0_0 = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
    torch.testing.assert_close(S0.data[0], S0_0)


check()
