import torch
import stepcore as step
from sympy import Symbol

D = Symbol("D")
H = Symbol("H")
K = Symbol("K")
M = Symbol("M")
N = Symbol("N")
D_value = 16
K_value = 9
M_value = 5
N_value = 7
ctx = {D: D_value, K: K_value, M: M_value, N: N_value}
torch.manual_seed(42)
H_value = D_value // 2
H = Symbol("H")
ctx[H] = H_value

input_data = {
    "E0": torch.randn((N_value, M_value, D_value)),
    "E1": torch.ones((N_value,)),
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
        steps = torch.arange(H_value, dtype=input[0].dtype)
        return [input[0] * torch.exp(steps * (-torch.log(torch.full_like(input[0], 10000.0)) / H_value))]


fn_angles = Angles(step.Scalar("float"), step.Buffer(step.Scalar("float"), [H]))


class RotateHalves(step.Fn):
    def __init__(self, input, output):
        super().__init__("RotateHalves", input, output)

    def apply(self, input):
        first, second = input[0][:H_value], input[0][H_value:]
        cos, sin = torch.cos(input[1]), torch.sin(input[1])
        return [torch.cat([first * cos - second * sin, second * cos + first * sin])]


fn_rotate = RotateHalves(step.STuple((step.Buffer(step.Scalar("float"), [D]), step.Buffer(step.Scalar("float"), [H]))), step.Buffer(step.Scalar("float"), [D]))


def prepare():
    E0 = step.Stream("E0", step.Buffer(step.Scalar("float"), [D]), 1, [M, N])
    E0.ctx = ctx
    E0.data = [input_data["E0"]]
    E1 = step.Stream("E1", step.Scalar("float"), 0, [N])
    E1.ctx = ctx
    E1.data = [input_data["E1"]]
    return E0, E1


def prog(E0, E1):
    E2 = step.Promote(b=1).apply(E1)
    E3 = step.Scan(fn=fn_count, b=1).apply(E2)
    E4 = step.Flatten(L=[1]).apply(E3)
    E5 = step.Map(fn=fn_angles).apply(E4)
    E6, E7 = step.Copy().apply(E0)
    E8 = step.RepeatRef().apply((E5, E6))
    E9 = step.Zip().apply((E7, E8))
    E10 = step.Map(fn=fn_rotate).apply(E9)
    return E10


def check():
    E0, E1 = prepare()
    S0 = prog(E0, E1)
    assert S0.shape == [M, N]
    assert S0.dtype == step.Buffer(step.Scalar("float"), [D])
    assert S0.rank == 1
    x = input_data['E0']
    rates = 10000.0 ** (-torch.arange(0, D_value, 2, dtype=x.dtype) / D_value)
    angles = torch.outer(torch.arange(N_value, dtype=x.dtype), rates)
    angles = torch.cat([angles, angles], dim=-1).unsqueeze(1)
    turned = torch.cat([-x[..., H_value:], x[..., :H_value]], dim=-1)
    S0_0 = x * angles.cos() + turned * angles.sin()
    torch.testing.assert_close(S0.data[0], S0_0)


check()
