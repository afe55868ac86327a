"""What a script certainly does not find is told before it runs, and nothing else: each text here runs, too."""

from __future__ import annotations

import linecache
from itertools import count

import pytest

from stepcore.check.files import check_text
from stepcore.findings.diagnostics import Diagnostic, Severity

HEAD = """\
import sympy
import torch
import stepcore as step
from stepcore.dims import M, N, K


@step.fn(input=step.f32, output=step.f32)
def twice(input):
    return [input[0] * 2]


E0 = step.Stream.of(torch.arange(12.0).view(3, 4), shape=[N, M], name="E0")
"""
PUBLISHED = """\
import torch
import stepcore as step
from sympy import Symbol

M = Symbol("M")
N = Symbol("N")
M_value = 3
N_value = 4
E0 = step.Stream("E0", step.f32, 1, [N, M])
E0.ctx = {M: M_value, N: N_value}
E0.data = [torch.randn(M_value, N_value)]


class Twice(step.Fn):
    def __init__(self):
        super().__init__("Twice", step.f32, step.f32)

    def apply(self, input):
        return [input[0] * 2]


"""
_numbers = count()


def errors(text: str) -> list[Diagnostic]:
    return [item for item in check_text(text, "script.py").diagnostics if item.severity is Severity.ERROR]


def raised(text: str) -> Exception | None:
    """Run a script; return what it raised."""
    name = f"<script {next(_numbers)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    try:
        exec(compile(text, name, "exec"), {"__name__": "__main__"})
    except Exception as error:  # noqa: BLE001 - whatever a script raises is what is asked for
        return error
    return None


WRONG = {
    "x = E0.data[1]": "E0.data holds 1 tensor, and there is none at 1; write E0.data[0]",
    "x = E0.data[-2]": "there is none at -2",
    "print(E0.shape[2])": "E0.shape holds 2 sizes, and there is none at 2; write E0.shape[0] to E0.shape[1]",
    "assert E0.shape[-3] == M": "there is none at -3",
    "xs = [1, 2, 3]\nx = xs[3]": "xs holds 3 items, and there is none at 3; write xs[0] to xs[2]",
    "xs = (1, 2, 3)\nx = xs[-4] + 1": "there is none at -4",
    "xs = [1]\nprint(len(xs), xs[0], xs[1])": "xs holds 1 item, and there is none at 1; write xs[0]",
    "xs = step.Copy().apply(E0)\nx = xs[2]": "xs holds 2 streams, and there is none at 2",
    "a, b, c = step.Copy().apply(E0)": "a, b, c are three names, and Copy gives two streams",
    "n = N / 2": "N is a size, and N / 2 may be no whole number; write N // 2",
    "E1 = step.Repeat(n=M / 3).apply(E0)": "write M // 3",
    "def f():\n    return K_value\n\n\nn = f()": "the script binds K_value nowhere; write K_value = ... above",
    "def f(x):\n    y = x * K_value\n    return y\n\n\nn = f(2)": "the script binds K_value nowhere",
    "x = E0.ctx[K]": "no stream of the script has a size K; its sizes: M, N",
    "x = E0.ctx['K']": "no stream of the script has a size K",
    "P = sympy.Symbol('P', positive=True)\nx = E0.ctx[P]": "no stream of the script has a size P",
    "xs = []\nfor i in range(3):\n    xs.append(i)\nx = xs[3]": "xs holds 3 items, and there is none at 3",
    "xs = [i for i in range(3)]\nx = xs[3]": "xs holds 3 items",
    "xs = list(range(4))\nx = xs[4]": "xs holds 4 items",
    "xs = [0] * 2\nx = xs[2]": "xs holds 2 items",
    "xs = [1, 2]\nx = xs[len(xs)]": "xs holds 2 items, and there is none at 2",
    "i = 3\nxs = [1, 2, 3]\nx = xs[i]": "xs holds 3 items, and there is none at 3",
    "xs = [1, 2]\nfor i in range(3):\n    print(xs[i])": "xs holds 2 items, and there is none at 2",
    "xs = [1, 2]\nfor i in range(len(xs)):\n    print(xs[i + 1])": "xs holds 2 items, and there is none at 2",
    "E1 = step.Map(fn=twice).apply(E0)\nx = E1.data[1]": "E1.data holds 1 tensor, and there is none at 1",
    "E1 = step.Promote(b=0).apply(E0)\nx = E1.shape[3]": "E1.shape holds 3 sizes, and there is none at 3",
    "n, m, k = E0.shape": "E0.shape holds 2 sizes, and here are 3 names",
    "a, b = E0.data": "E0.data holds 1 tensor, and here are 2 names",
    "print(M_value)": "the script binds M_value nowhere; write M_value = ... above, the number of M",
    "E1 = step.Map(fn=twise).apply(E0)": "the script binds twise nowhere; did you mean twice?",
    "for i in range(2):\n    print(nothing)": "the script binds nothing nowhere; bind it above",
    "x = E0[0]": "E0 is one stream and cannot be indexed",
    "x = len(E0)": "E0 is one stream and has no length; write E0.shape",
    "x = E0 + 1": "E0 is a stream and no number",
    "for t in E0:\n    print(t)": "E0 is one stream and cannot be taken apart",
    "x = range(M)": "M is a size, and range takes numbers; write the number of M, as in a stream's ctx[M]",
    "x = torch.zeros((M, 2))": "M is a size, and torch.zeros takes numbers",
    "x = M.subs({M: 4})": "M is a size of stepcore.dims, and they have no .subs; sizes with the methods of sympy",
    "x = M[0]": "M is a size and cannot be indexed; its number is a stream's ctx[M]",
    "x = len(M)": "M is a size and has no length",
    "x = M(4)": "M is a size and cannot be called",
    "P = sympy.Symbol('P')\nx = int(P)": "P is a size, and int takes numbers",
    "P = sympy.Symbol('P')\nx = P[0]": "P is a size and cannot be indexed",
    "E1 = step.Map(fn=twice)(E0)": "step.Map(fn=twice) is an operator and no function; write .apply(...)",
    "E1 = step.Map(fn=twice).aply(E0)": "operators have no .aply; write .apply(...)",
    "with torch.no_grad():\n    a, b, c = step.Copy().apply(E0)": "Copy gives two streams",
}


@pytest.mark.parametrize("body", WRONG)
def test_what_is_certainly_missing_is_told(body: str) -> None:
    text = HEAD + body + "\n"
    assert raised(text) is not None
    assert any(WRONG[body] in each.message for each in errors(text)), errors(text)


@pytest.mark.parametrize("head", [HEAD, PUBLISHED])
def test_a_function_that_reads_a_number_that_nobody_binds_is_told(head: str) -> None:
    text = head.replace("input[0] * 2", "input[0] * K_value")
    text += f"E1 = step.Map(fn={'twice' if head is HEAD else 'Twice()'}).apply(E0)\n"
    assert raised(text) is not None
    (found,) = errors(text)
    assert (found.code, text[found.span.start : found.span.end]) == ("STEP202", "K_value")


def test_the_division_of_a_size_has_a_fix() -> None:
    (found,) = errors(HEAD + "n = N / 2\n")
    assert found.fix is not None and found.fix.edits[0].text == "N // 2"


PROVOKED = [
    "a, b = step.Copy().apply(E0)\nwith raises(step.StepError):\n    step.Zip().apply((a, a))\nx = [a, b]",
    "with pytest.raises(step.StepError, match='rank'):\n    step.Promote(b=7).apply(E0)",
    "E1 = step.Copy().apply(E0)\nwith pytest.raises(step.StepError) as found:\n    step.Map(fn=twice).apply(E0)",
    "def f():\n    step.Copy().apply(E0)\n    with raises(step.StepError):\n        step.Copy().apply(E0)\n\n\nf()",
    "step.Copy().apply(E0)\nwith unittest.TestCase().assertRaises(step.StepError):\n    step.Copy().apply(E0)",
    "with torch.no_grad(), pytest.raises(step.StepError):\n    step.Promote(b=9).apply(E0)",
]


@pytest.mark.parametrize("body", PROVOKED)
def test_of_what_is_raised_on_purpose_nothing_is_told(body: str) -> None:
    text = f"import unittest\nimport pytest\nfrom pytest import raises\n{HEAD}{body}\n"
    assert raised(text) is None
    assert not errors(text)
    alone = text.replace("raises(", "warns(").replace("assertRaises(", "subTest(")
    assert errors(alone), "what is raised there is an error elsewhere"


RIGHT = [
    "P = sympy.Symbol('P')\nx = [P.subs({P: 3}), sympy.simplify(P * 2 / 2), len(P.free_symbols)]",
    "x = [M.is_symbol, str(M), M.symbols(), {M: 1}[M]]",
    "def K(x):\n    return x\n\n\nx = K(3)",
    "K = [1]\nx = [K[0], len(K), K.copy()]",
    "assert torch.equal(step.Map(fn=twice).apply(E0).data[0], torch.arange(12.0).view(3, 4) * 2)",
    "torch.testing.assert_close(step.Map(fn=twice).apply(E0).data[0], expected=2 * torch.arange(12.0).view(3, 4))",
    "x = [torch.sum(step.Map(fn=twice).apply(each).data[0]) for each in step.Copy().apply(E0)]",
    "def f(stream):\n    return torch.sum(step.Map(fn=twice).apply(stream).data[0])\n\n\nx = f(E0)",
    "x = torch.set_default_dtype(step.Map(fn=twice).apply(E0).data[0].dtype)",
    "x = torch.zeros(step.Map(fn=twice).apply(E0).data[0].shape)",
    "x = torch.nn.Linear(4, 2)(step.Map(fn=twice).apply(E0).data[0])",
    "x = E0.data[0]",
    "x = E0.data[-1]",
    "n = E0.shape[1]",
    "n = E0.shape[-2]",
    "n = E0.shape[5:]",
    "n = E0.ctx[M] + E0.ctx['N'] + E0.ctx[sympy.Symbol('M')]",
    "n = E0.ctx.get(K)",
    "xs = [1, 2, 3]\nx = xs[-3]",
    "xs = [1, 2, 3]\nxs.append(4)\nx = xs[3]",
    "xs = [1, 2, 3]\nxs += [4]\nx = xs[3]",
    "xs = [1, 2, 3]\nys = xs\nys.append(4)\nx = xs[3]",
    "xs = [1, 2, 3]\nxs[1:1] = [7]\nx = xs[3]",
    "xs = [1, 2]\nxs = [1, 2, 3]\nx = xs[2]",
    "xs = [1, 2]\n\n\ndef grow(them):\n    them.append(3)\n\n\ngrow(xs)\nx = xs[2]",
    "xs = [1, 2]\n\n\ndef grow():\n    global xs\n    xs = [1, 2, 3]\n\n\ngrow()\nx = xs[2]",
    "xs = [1, 2]\n\n\ndef grow():\n    xs.append(3)\n\n\ngrow()\nx = xs[2]",
    "xs = []\nfor i in range(4):\n    xs.append(i)\nx = xs[3]",
    "xs = []\nfor t in torch.arange(4):\n    xs.append(t)\nx = xs[3]",
    "xs = [0] * 4\nx = xs[3]",
    "xs = [*range(4)]\nx = xs[3]",
    "xs = [1, 2, 3]\nx = xs[3] if len(xs) > 3 else None",
    "xs = [1, 2, 3]\nx = len(xs) > 3 and xs[3]",
    "xs = [1, 2, 3]\nif len(xs) > 3:\n    x = xs[3]",
    "xs = [1, 2, 3]\ntry:\n    x = xs[3]\nexcept IndexError:\n    pass",
    "import contextlib\n\nxs = [1, 2, 3]\nwith contextlib.suppress(IndexError):\n    x = xs[3]",
    "import contextlib\n\nwith contextlib.suppress(Exception):\n    a, b, c = step.Copy().apply(E0)",
    "xs = [1, 2, 3]\nf = lambda: xs[3]",
    "xs = [1, 2, 3]\nx = [xs[3] for _ in []]",
    "xs = {3: 'c'}\nx = xs[3]",
    "xs = torch.arange(5)\nx = xs[3]",
    "xs = 'text'\nx = xs[3]",
    "a, b = step.Copy().apply(E0)",
    "a, *b = step.Copy().apply(E0)",
    "xs = step.Copy().apply(E0)\nx = xs[1]",
    "n = N // 2 + N * 3",
    "n = M_value / 2 if False else 1",
    "K = 6\nn = K / 2",
    "def half(N):\n    return N / 2\n\n\nn = half(4)",
    "def f():\n    return K_value",
    "def f(K_value):\n    return K_value\n\n\nn = f(3)",
    "def f():\n    return K_value\n\n\nK_value = 9\nn = f()",
    "def f(flag):\n    if flag:\n        return K_value\n    return 0\n\n\nn = f(False)",
    "def f():\n    try:\n        return K_value\n    except NameError:\n        return 0\n\n\nn = f()",
    "for K_value in range(3):\n    pass\n\n\ndef f():\n    return K_value\n\n\nn = f()",
    "def f():\n    return my_value\n\n\nglobals()['my_value'] = 3\nn = f()",
    "def f():\n    return [K_value for K_value in range(3)]\n\n\nn = f()",
    "x = E0.ctx[M]",
    "x = E0.ctx[N] * E0.ctx['M']",
    "Mp = sympy.Symbol('M', positive=True)\nx = E0.ctx[Mp]",
    "x = E0.ctx[M * N]",
    "E0.ctx['K'] = 5\nx = E0.ctx[K]",
    "E2 = step.Stream.of(torch.zeros(2), shape=[K], name='E2')\nx = E2.ctx[K]",
    "E1 = step.Repeat(n=K).apply(step.Stream.of(torch.zeros(3), shape=[M], ctx={K: 2}))\nx = E1.ctx[K]",
    "E1 = step.Promote(b=0).apply(E0)\nprint(E1.ctx[M], E1.shape)",
    "if K in E0.ctx:\n    print(E0.ctx[K])",
    "x = E0.ctx.get(K)",
    "x = E0.ctx[K] if K in E0.ctx else 0",
    "xs = []\nfor i in range(3):\n    xs.append(i)\nx = xs[2]",
    "xs = []\nfor i in range(3):\n    xs.append(i)\n    xs.append(i)\nx = xs[5] + xs[-6]",
    "xs = []\nfor i in range(3):\n    for j in range(2):\n        xs.append(i)\nx = xs[5]",
    "xs = []\nfor i in range(3):\n    if i > 0:\n        xs.append(i)\n        xs.append(i)\nx = xs[3]",
    "xs = [1]\nys = xs\nys.append(2)\nx = xs[1]",
    "xs = [1]\nxs += [2]\nx = xs[1]",
    "xs = [1]\nxs.extend([2])\nx = xs[1]",
    "xs = [1]\nxs.insert(0, 2)\nx = xs[1]",
    "def more(l):\n    l.append(3)\nxs = [1]\nmore(xs)\nx = xs[1]",
    "xs = []\ndef more():\n    xs.append(3)\nmore()\nmore()\nx = xs[1]",
    "xs = [i for i in range(3)]\nx = xs[2]",
    "xs = [i for i in range(3) if i]\nx = xs[1]",
    "xs = [i for i in range(3) for j in range(2)]\nx = xs[5]",
    "xs = list(range(4))\nx = xs[3]",
    "xs = list(range(1, 4))\nx = xs[2]",
    "xs = list('abcd')\nx = xs[3]",
    "xs = [E0] * 2\nx = xs[1]",
    "E1 = step.Map(fn=twice).apply(E0)\nx = E1.data[0]",
    "n, m = E0.shape",
    "n, *m = E0.shape",
    "(n, m), (d,) = E0.shape, E0.data",
    "n = N // 2",
    "n = N * 2 + 1",
    "n = (N + 1) // 2",
    "n = 7 / 2",
    "M_value = 3\ndef f(x):\n    return x * M_value\nprint(f(2))",
    "def f(x):\n    global K_value\n    K_value = 4\n    return x\nf(1)\nprint(K_value)",
    "def f(x):\n    return x * Q_value\nQ_value = 3\nprint(f(2))",
    "exec('zz = 3')\nprint(zz)",
    "import math as mm\nprint(mm.pi)",
    "import os.path\nprint(os.path.sep)",
    "print(__name__, __doc__)",
    "for i in range(3):\n    k = i\nprint(i, k)",
    "for i in range(3):\n    xs = [1, 2, 3]\n    print(xs[i])",
    "xs = [1, 2, 3]\nfor i in range(3):\n    print(xs[i])",
    "xs = [1, 2]\nfor i in range(3):\n    if i == 2:\n        break\n    print(xs[i])",
    "xs = [1, 2]\nfor i in range(3):\n    if i < 2:\n        print(xs[i])",
    "xs = [1, 2]\nfor i in range(3):\n    try:\n        print(xs[i])\n    except IndexError:\n        pass",
    "xs = [1, 2]\nfor i in range(len(xs)):\n    print(xs[i])",
    "xs = [1, 2]\nfor i in range(len(xs) - 1):\n    print(xs[i + 1])",
    "xs = [1, 2]\nfor i, x in enumerate(xs):\n    print(xs[i])",
    "for x in []:\n    print(undefined_thing)",
    "for i in range(0):\n    print([1][3])",
    "if False:\n    print(undefined_thing)",
    "def never():\n    return undefined_thing",
    "f = lambda: undefined_thing",
    "x = 1 if True else undefined_thing",
    "x = True or undefined_thing",
    "class A:\n    y = 3\n    def f(self):\n        return self.y\nprint(A().f())",
    "with torch.no_grad():\n    z = 3\nprint(z)",
    "try:\n    w = 1\nexcept Exception as e:\n    print(e)\nprint(w)",
    "match 3:\n    case q:\n        print(q)\nprint(q)",
    "while True:\n    r = 3\n    break\nprint(r)",
    "print([j for j in range(3)], {j: j for j in range(2)})",
    "if (t := 3) > 2:\n    print(t)\nprint(t)",
    "import contextlib\nwith contextlib.suppress(NameError):\n    print(undefined_thing)",
    "x: 'Undefined' = 3",
    "d = {'a': 1}\nd['b'] = 2\nx = d['b']",
    "x = [1, 2][1]",
    "i = 2\nxs = [1, 2, 3]\nx = xs[i]",
    "i = 5\ni = 1\nxs = [1, 2, 3]\nx = xs[i]",
    "i = 5\ni -= 4\nxs = [1, 2, 3]\nx = xs[i]",
    "xs = [1, 2]\nprint(xs[len(xs) - 1], xs[-len(xs)])",
    "E1 = step.Map(fn=twice).apply(E0)\nprint(E1, E1.shape, E1.data[0].shape, E1.ctx, E1.name)",
    "E1 = step.Map(fn=twice).apply(E0)\ntorch.testing.assert_close(E1.data[0], torch.arange(12.0).view(3, 4) * 2)",
    "op = step.Map(fn=twice)\nE1 = op.apply(E0)",
    "E1 = step.Map(fn=twice).apply(E0, name='E1')",
    "def build(s):\n    return step.Map(fn=twice).apply(s)\nE1 = build(E0)\nprint(E1.shape[1])",
    "streams = {}\nstreams['a'] = step.Map(fn=twice).apply(E0)\nprint(streams['a'])",
    "results = []\nfor fn in [twice]:\n    results.append(step.Map(fn=fn).apply(E0))\nprint(results[0].data[0])",
    "m = E0.ctx[M]\nx = torch.zeros(m, E0.ctx[N])",
    "x = range(E0.ctx[M])",
    "M = 3\nx = range(M)\ny = M / 2",
    "x = float(E0.ctx[M]) / 2",
    "x = str(M) + repr(N)",
    "import numpy as np\nx = np.zeros(3)[2]",
    "assert E0.data[0].shape == (3, 4)\nprint(f'{E0.shape[0]} {E0.ctx[M]:>3}')",
    "x = E0 == 1",
    "x = E0 is None",
    "x = not E0",
    "sizes = [s for s in E0.shape]\nx = sizes[1]",
    "x = max(E0.shape, key=str)",
    "x = step.f32\ny = step.Map",
    "globals()['dyn'] = 3\nprint(dyn)",
    "from stepcore.dims import D\nE2 = step.Stream('E2', step.f32, 0, [D])",
    "import typing\nif typing.TYPE_CHECKING:\n    import foo",
    "class Box:\n    def __init__(self):\n        self.shape = (1, 2, 3)\n\n\nB = Box()\nn = B.shape[2]",
]


@pytest.mark.parametrize("body", RIGHT)
def test_what_python_runs_is_not_refused(body: str) -> None:
    text = HEAD + body + "\n"
    assert raised(text) is None
    assert errors(text) == []


PUBLISHED_RIGHT = [
    "x = [M.subs({M: 3}), (M * N / N).simplify(), len(M.free_symbols)]",
    "n = N / 2",
    "n = E0.ctx[Symbol('M')]",
    "assert E0.shape == [N, M]",
    "assert E0.shape[1] == M and E0.data[0].shape[0] == 3",
    "E1 = step.Map(fn=Twice()).apply(E0)\nassert E1.ctx[M] == 3 and E1.data[0].shape == (3, 4)",
    "E0.data = [torch.randn(3, 4), torch.randn(3, 4)][:1]\nx = E0.data[0]",
    "E0.data.append(torch.ones(2))\nx = E0.data[1]",
]


@pytest.mark.parametrize("body", PUBLISHED_RIGHT)
def test_neither_is_what_published_scripts_write(body: str) -> None:
    text = PUBLISHED + body + "\n"
    assert raised(text) is None
    assert errors(text) == []


def test_what_may_have_ended_the_script_ends_the_look() -> None:
    assert errors(HEAD + "import sys\n\nxs = [1]\nif len(xs) < 2:\n    sys.exit()\nx = xs[1]\n") == []
    assert errors(HEAD + "xs = [1]\nif len(xs) < 2:\n    raise SystemExit\nx = xs[1]\n") == []
