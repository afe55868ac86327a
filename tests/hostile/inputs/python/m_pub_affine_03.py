# expect: STEP101
import torch
import stepcore as step
from sympy import symbols

M, N = symbols("M, N", positive=True)
ctx = {M: 3, N: 4}


class Sum(step.Fn):
    def __init__(self, input, output):
        super().__init__("Sum", input, output)

    def getInit(self):
        return [torch.zeros(())]

    def apply(self, state, input):
        return [state[0] + input[0]]


fn_sum = Sum(step.Scalar("float"), step.Scalar("float"))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 1, [M, N])
    E0.ctx = ctx
    E0.data = [torch.randn(4, 3)]
    return E0


def prog(E0):
    return step.Accum(fn=fn_sum, b=1).apply(E0)


def test_sum():
    E0 = prepare()
    S0, S1 = [prog(x) for x in (E0, E0)]
    assert S0.shape == [N]
    torch.testing.assert_close(S0.data[0], E0.data[0].sum(1))


test_sum()
