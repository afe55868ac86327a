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


RIGHT = [
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
    "class Box:\n    def __init__(self):\n        self.shape = (1, 2, 3)\n\n\nB = Box()\nn = B.shape[2]",
]


@pytest.mark.parametrize("body", RIGHT)
def test_what_python_runs_is_not_refused(body: str) -> None:
    text = HEAD + body + "\n"
    assert raised(text) is None
    assert errors(text) == []


PUBLISHED_RIGHT = [
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
