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
base = 10000.0

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


class Angles(step.Fn):
    def __init__(self, input, output):
        super().__init__("Angles", input, output)

    def apply(self, input):
        steps = torch.arange(D_value // 2, dtype=input[0].dtype)
        return [input[0] * torch.pow(base, -2.0 * steps / D_value)]


fn_angles = Angles(step.Scalar("float"), step.Buffer(step.Scalar("float"), [D//2]))


class RotatePairs(step.Fn):
    def __init__(self, input, output):
        super().__init__("RotatePairs", input, output)

    def apply(self, input):
        even, odd = input[0][0::2], input[0][1::2]
        cos, sin = input[1], input[2]
        return [torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).flatten()]


fn_rotate = RotatePairs(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [D//2]), step.Buffer(step.Scalar("float"), [D//2]))), step.Buffer(step.Scalar("float"), [D]))


class Cos(step.Fn):
    def __init__(self, input, output):
        super().__init__("Cos", input, output)

    def apply(self, input):
        return [input[0].cos()]


fn_cos = Cos(step.Buffer(step.Scalar("float"), [D//2]), step.Buffer(step.Scalar("float"), [D//2]))


class Sin(step.Fn):
    def __init__(self, input, output):
        super().__init__("Sin", input, output)

    def apply(self, input):
        return [input[0].sin()]


fn_sin = Sin(step.Buffer(step.Scalar("float"), [D//2]), step.Buffer(step.Scalar("float"), [D//2]))


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
    E3 = step.Map(fn=fn_angles).apply(E2)
    E4, E5 = step.Copy().apply(E3)
    E6 = step.Map(fn=fn_cos).apply(E4)
    E7 = step.Map(fn=fn_sin).apply(E5)
    E8 = step.Map(fn=fn_rotate).apply((E0, E6, E7))
    return E8


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    places = torch.arange(M_value, dtype=x.dtype).unsqueeze(-1)
    angles = places / base ** (torch.arange(0, D_value, 2, dtype=x.dtype) / D_value)
    cos = angles.cos().repeat_interleave(2, dim=-1)
    sin = angles.sin().repeat_interleave(2, dim=-1)
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(N_value, M_value, D_value)
    S0_0 = x * cos + turned * sin
    torch.testing.assert_close(S0.data[0], S0_0)


check()
