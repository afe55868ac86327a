"""What a body may change in place: only what certainly is its own, whatever handed it on."""

from __future__ import annotations

import pytest

from stepcore.fn.check import check_block, check_fn
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import Tile

GLOBAL = """\
c = [1, 2]
table = {'a': torch.ones(3)}
eps = 1e-6
base = torch.ones(3) * 2
act = torch.nn.GELU()
same = torch.nn.Identity()
view = torch.flatten
def own(x):
    return x * 2
def through(x, y=None):
    z = x.view(-1)
    return z
def change(x, y):
    y.fill_(0)
    return x
def ordered(x):
    return x.sort()[0] + x.flatten().sort()[0].sum()
def further(v):
    return change(v * 1, v)
"""

REFUSED = {
    "chunk": "a = input[0].chunk(1)[0]\na[0] = 0",
    "reshape": "input[0].reshape(-1).fill_(0)",
    "contiguous": "input[0].contiguous().fill_(0)",
    "unbind": "for row in input[0].unbind():\n  row.zero_()",
    "diagonal": "torch.diagonal(input[0]).mul_(2)",
    "split": "a, b = torch.split(input[0], 1)\nb += 1",
    "einsum": "torch.einsum('ij->ji', input[0]).add_(1)",
    "detach": "input[0].detach().add_(1)",
    "expand": "input[0].expand(2, 3, 4).add_(1)",
    "T": "a = input[0].T\na *= 2",
    "flatten": "input[0].flatten()[0] = 1",
    "to": "input[0].to(torch.float32).add_(1)",
    "float": "x = input[0].float()\nx += 1",
    "an operator": "torch.ops.aten.view.default(input[0], [-1]).zero_()",
    "what an operation in place gives": "a = input[0].view(-1)\n(b := a).abs()\nb.relu_()",
    "a row by a variable": "for i in range(3):\n  x = input[0][i]\n  x += 1",
    "a list of its own": "a = [input[0], 1]\na[0].fill_(0)",
    "a list in a list": "a = [[], []]\na[1].append(input[0])\na[1][0].zero_()",
    "a dictionary": "a = {'x': input[0]}\na['x'].zero_()",
    "either arm": "a = input[0] if M_value > 3 else input[0] * 2\na += 1",
    "one path": "a = input[0] * 2\nif M_value > 3:\n  a = input[0]\na += 1",
    "the round before": "a = input[0] * 2\nfor i in range(3):\n  a += 1\n  a = input[0]",
    "a comprehension": "[x.zero_() for x in input]",
    "items in pairs": "for i, x in enumerate(input):\n  x.zero_()",
    "a name for all inputs": "a = input\na[0] = input[0] * 2",
    "what global made": "d = c\nd.append(1)",
    "what global made, in a list": "d = [c]\nd[0].append(1)",
    "an entry of what global made": "table['a'].zero_()",
    "a module that does nothing": "same(input[0]).zero_()",
    "a function by another name": "view(input[0]).zero_()",
    "a module on the spot": "torch.nn.Flatten(0)(input[0]).zero_()",
    "a helper that hands on": "through(input[0]).zero_()",
    "a helper that changes": "change(1, y=input[0])",
    "a helper of a helper": "further(c)",
    "a helper of the body": "def f(l):\n  l.append(1)\nf(c)",
    "a list of global in order": "c.sort()",
    "a list of global in order, by a helper": "ordered(c)",
    "a list of global in order, by a helper of the body": "def f(x):\n  x.sort()\nf(c)",
    "a list of global in order, by a lambda": "f = lambda x: x.sort()\nf(c)",
    "a list of global in order, handed on": "def f(x):\n  return [x]\nf(c)[0].sort()",
    "a list that may be a tensor": "a = input[0] if M_value > 3 else c\na.sort()",
    "a list of both": "def f(x):\n  y = x + [1]\n  y[0].zero_()\nf([input[0]])",
    "a dictionary of two": "a = {'x': input[0]} | {}\na['x'].zero_()",
    "a number at a place": "a = input[0][input[0].argmax()]\na += 1",
    "perhaps a number at a place": "a = input[0][input[0].argmax(0)]\na += 1",
    "perhaps one from the end": "a = input[0][torch.argmax(input[0], dim=-1)]\na += 1",
    "a number of a place": "a = input[0][torch.tensor(1)]\na += 1",
    "a lambda": "f = lambda x: x.zero_()\nf(input[0])",
}
LEGAL = {
    "rows at places": "a = input[0][input[0].argmax(1)]\na += 1",
    "rows by a mask": "a = input[0][torch.any(input[0] > 0, dim=-2)]\na += 1",
    "a copy": "a = input[0].clone()\na.view(-1)[0] = 1",
    "a new tensor": "a = input[0] * 2\na += 1\na[0] = 3\na.chunk(2)[0].zero_()",
    "a sum of two": "a = input[0] + table['a'].sum()\na[0].zero_()",
    "a product by einsum": "a = torch.einsum('ij,jk->ik', input[0], input[0].T)\na += 1",
    "a list of places": "a = input[0][[0, 1]]\na += 1",
    "a mask": "a = input[0][input[0] > 0]\na += 1",
    "a list of its own": "a = [input[0]]\na.append(3)\na[0] = 4\na += [5]",
    "a list by another name": "a = [input[0]]\nb = a\nb.append(3)\nb = a[1]\nc, d = a",
    "a list in a list": "b = [[]]\na = b[0]\na.append(3)\na.append(4)\nc = b[0][1]\nd, e = b[0]",
    "lists in a list": "a = [[], []]\na[0].append(input[0])\na[0].append(input[0])\na[0][0] = 1",
    "numbers": "n = input[0].shape[0]\nn += 1\nk = eps\nk += 1\nfor i, x in enumerate(input):\n  i += 1",
    "a module": "a = act(input[0])\na += 1",
    "a helper that computes": "a = own(input[0])\na += 1",
    "a helper that changes its own": "a = input[0] * 2\nchange(1, a)",
    "another value of a name": "a = input[0]\na = a * 2\na += 1",
    "a number of an item": "n = input[0].sum().item()\nn += 1",
    "what takes rows of others": "a = torch.zeros(4, 4)\na[0] = input[0][0]\na[1] += 1\nb = a[2]\nb += 1\na[0].mul_(2)",
    "a row in a loop": "a = torch.zeros_like(input[0])\nfor i in range(4):\n  a[i] = input[0][i]\n  a[i] += 1",
    "a helper with a tensor of its own": "def f(x):\n  y = x.clone()\n  y[0] = x[1]\n  y[1] += 1\nf(input[0])",
    "a tensor in order": "a, b = input[0].sort()\nx = input[0]\nc = x.sort()[0] + x.T.sort().values",
    "tensors in order": "a = {'x': input[0], 'n': [1]}\nb = a['x'].sort()[0]\nc = [x.sort()[0] for x in input]",
    "one of two in order": "a = input[0] if M_value > 3 else [1]\nb = a.sort()[0]",
    "a tensor of global in order": "a = base.sort()[0] + table['a'].abs().sort()[0]",
    "a helper that puts a tensor in order": "def f(x):\n  return x.sort()[0]\na = f(input[0])",
    "a helper that puts tensors in order": "def f(xs):\n  return [x.sort()[0] for x in xs]\na = f([input[0]])",
    "a helper of global that puts in order": "a = ordered(input[0])",
    "a list of its own in order": "a = [x.sum() for x in input[0]]\na.sort()",
}


def codes(body: str) -> list[str]:
    scope = FnScope(prelude=CodeBlock(Embedded.whole(GLOBAL)), sizes=(("M", 5),))
    tile = Tile("fp32", (Dim.of(4), Dim.of(4)))
    text = CodeBlock(Embedded.whole(f"{body}\nreturn [input[0] * 1]"), ("input",))
    return [item.code for item in check_fn(FnDecl("f", "F", tile, tile, text), scope)]


def test_the_block_itself_is_fine() -> None:
    block = CodeBlock(Embedded.whole(GLOBAL))
    assert not check_block(block, FnScope(prelude=block), "prelude")


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_may_be_a_view_of_what_was_given_does_not_change(body: str) -> None:
    assert codes(body) == ["STEP310"]


@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL)
def test_what_is_a_bodys_own_may_change(body: str) -> None:
    assert codes(body) == []
