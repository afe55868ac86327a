"""Bodies are checked without running them: codes, places, one message for one mistake, nothing for what is fine."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepcore.dims import D, E, K, M
from stepcore.findings import budget
from stepcore.findings.budget import Budget
from stepcore.fn import allow
from stepcore.fn.check import check_block, check_fn
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.prelude import constant_bindings, prelude_names, size_faults
from stepcore.fn.shapes.inference import FnCost, fn_cost
from stepcore.frontend.typetext import parse_type
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Element, Multihot, Scalar, STuple

F32 = Scalar("fp32")
VEC = Buffer(F32, [D])
PRELUDE = """gelu = torch.nn.GELU()
E_value = 3
ctx[E] = E_value
depth = 3
helper = lambda x: x * 2
"""


def block(text: str, *arguments: str) -> CodeBlock:
    return CodeBlock(Embedded.whole(text), arguments)


def scope(**more: Any) -> FnScope:
    settings: dict[str, Any] = {"prelude": block(PRELUDE), "parameters": ("W", "R"), "tensors": ("E0",)}
    return FnScope(**{**settings, **more})


def fn(body: str, given: Element = VEC, result: Element = VEC, init: Any = None) -> FnDecl:
    arguments = ("input",) if init is None else ("state", "input")
    return FnDecl("fn_x", "X", given, result, block(body, *arguments), init, span=Span(0, 1))


def findings(decl: FnDecl, where: FnScope | None = None) -> list[tuple[str, str]]:
    text = decl.body.source.text
    found = check_fn(decl, where or scope())
    return [(d.code, text[d.span.start : d.span.end]) for d in found]


TWO = STuple([VEC, F32])
# (body, input, output, init, expected findings: code and the text under the span)
TABLE: list[tuple[str, Element, Element, Any, list[tuple[str, str]]]] = [
    # syntax
    ("return [input[0] +]\n", VEC, VEC, None, [("STEP301", "]")]),
    ("return [input[0]\n", VEC, VEC, None, [("STEP301", "[")]),
    # forbidden
    ("import os\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "import os")]),
    ("from os import path\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "from os import path")]),
    ("x = __import__('os')\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "__import__")]),
    ("open('x')\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "open")]),
    ("eval('1')\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "eval")]),
    ("exec('1')\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "exec")]),
    ("x = input[0].__class__\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "input[0].__class__")]),
    ("x = f'{input[0].__class__}'\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "input[0].__class__")]),
    ("x = getattr(torch, 'load')\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "getattr")]),
    ("while True:\n    pass\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "while True:\n    pass")]),
    ("class A: pass\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "class A: pass")]),
    ("global x\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "global x")]),
    ("with x as y: pass\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "with x as y: pass")]),
    ("try: pass\nexcept: pass\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "try: pass\nexcept: pass")]),
    ("return [torch.zeros(D_value, **{})]\n", VEC, VEC, None, [("STEP302", "**{}")]),
    ("input[0].x = 1\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "input[0].x")]),
    ("x = f'{1:>1000000000}'\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "f'{1:>1000000000}'")]),
    ("x = '%d' % 3\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "'%d' % 3")]),
    ("x = 'a,b'.split(',')\nreturn [input[0]]\n", VEC, VEC, None, [("STEP304", "'a,b'.split")]),
    ("return [(input[0] > 0) & (input[0] < 1)]\n", VEC, VEC, None, [("STEP306", "(input[0] > 0) & (input[0] < 1)")]),
    ("return [~(input[0] > 0)]\n", VEC, VEC, None, [("STEP306", "~(input[0] > 0)")]),
    ("return [input[0].long() % 3]\n", VEC, VEC, None, [("STEP306", "input[0].long() % 3")]),
    ("return [input[0] is None]\n", VEC, VEC, None, [("STEP306", "input[0] is None")]),
    ("return [int(input[0].sum())]\n", VEC, VEC, None, [("STEP306", "int(input[0].sum())")]),
    ("return [True]\n", VEC, VEC, None, [("STEP306", "True")]),
    ("assert depth\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "assert depth")]),
    ("print(1)\nreturn [input[0]]\n", VEC, VEC, None, [("STEP302", "print")]),
    # names
    ("return [input[0] * factr]\n", VEC, VEC, None, [("STEP303", "factr")]),
    ("return [input[0] @ input_data['Q']]\n", VEC, VEC, None, [("STEP303", "'Q'")]),
    ("return [input[0] + input_data['E0']]\n", VEC, VEC, None, [("STEP303", "'E0'")]),
    ("return [sum(x for x in input)] + [y]\n", VEC, VEC, None, [("STEP303", "y")]),
    # calls
    ("return [torch.load('x')]\n", VEC, VEC, None, [("STEP304", "torch.load")]),
    ("return [torch.sofmax(input[0], 0)]\n", VEC, VEC, None, [("STEP304", "torch.sofmax")]),
    ("return [torch.nn.functional.geru(input[0])]\n", VEC, VEC, None, [("STEP304", "torch.nn.functional.geru")]),
    ("return [torch.hub.load('x')]\n", VEC, VEC, None, [("STEP304", "torch.hub.load")]),
    ("return [input[0].numpy()]\n", VEC, VEC, None, [("STEP304", "input[0].numpy")]),
    ("return [input[0].sofmax(0)]\n", VEC, VEC, None, [("STEP304", "input[0].sofmax")]),
    ("return [torch.rand(D_value)]\n", VEC, VEC, None, [("STEP304", "torch.rand")]),
    ("return [torch.nn.Linear(3, 3)(input[0])]\n", VEC, VEC, None, [("STEP304", "torch.nn.Linear")]),
    ("x = '{0.__class__}'.format(1)\nreturn [input[0]]\n", VEC, VEC, None, [("STEP304", "'{0.__class__}'.format")]),
    ("return [torch.ops.aten.addd.default(input[0])]\n", VEC, VEC, None, [("STEP304", "torch.ops.aten.addd.default")]),
    ("return [torch.add(input[0], 1, out=input[0])]\n", VEC, VEC, None, [("STEP304", "out=input[0]")]),
    # components
    ("return [input[0], input[0]]\n", VEC, VEC, None, [("STEP305", "[input[0], input[0]]")]),
    ("return input[0]\n", VEC, VEC, None, [("STEP305", "input[0]")]),
    ("return input[0] + 1\n", VEC, VEC, None, [("STEP305", "input[0] + 1")]),
    ("return\n", VEC, VEC, None, [("STEP305", "return")]),
    ("return [input[0]] if input[1] > 0 else []\n", TWO, VEC, None, [("STEP305", "[]")]),
    ("return [input[0]]\n", VEC, TWO, None, [("STEP305", "[input[0]]")]),
    # shapes
    ("return [input[0].sum()]\n", VEC, VEC, None, [("STEP306", "input[0].sum()")]),
    (
        "return [input[0] if M_value == 5 else input[0].sum()]\n",
        VEC,
        VEC,
        None,
        [("STEP306", "input[0].sum()")],
    ),
    (
        "return [input[0] if M == 5 else input[0] * 2 if M == 6 else input[0][None]]\n",
        VEC,
        VEC,
        None,
        [("STEP306", "input[0][None]")],
    ),
    ("return [input[0] + torch.zeros(M_value)]\n", VEC, VEC, None, [("STEP306", "input[0] + torch.zeros(M_value)")]),
    ("return [input[0] @ input[0].unsqueeze(0)]\n", VEC, VEC, None, [("STEP306", "input[0] @ input[0].unsqueeze(0)")]),
    ("return [torch.dot(input[0], input[1])]\n", TWO, F32, None, [("STEP306", "torch.dot(input[0], input[1])")]),
    ("return [torch.topk(input[0], 99).values]\n", VEC, VEC, None, [("STEP306", "torch.topk(input[0], 99)")]),
    ("return [input[0].reshape(3, 3)]\n", VEC, VEC, None, [("STEP306", "input[0].reshape(3, 3)")]),
    ("return [torch.stack(input)]\n", TWO, VEC, None, [("STEP306", "torch.stack(input)")]),
    ("return [input[0][0, 0]]\n", VEC, F32, None, [("STEP306", "input[0][0, 0]")]),
    ("return [input[0][99]]\n", VEC, F32, None, [("STEP306", "input[0][99]")]),
    ("return [input[0] > 0]\n", VEC, VEC, None, [("STEP306", "input[0] > 0")]),
    ("return [input[0].argmax()]\n", VEC, F32, None, [("STEP306", "input[0].argmax()")]),
    ("return [0.5]\n", VEC, F32, None, [("STEP306", "0.5")]),
    ("x = torch.zeros(3)\nx += input[0]\nreturn [input[0]]\n", VEC, VEC, None, [("STEP306", "x += input[0]")]),
    ("return [th.inf * input[0]]\n", VEC, VEC, None, [("STEP303", "th")]),
    ("return [input[0].T]\n", Buffer(F32, [K, D]), Buffer(F32, [K, D]), None, [("STEP306", "input[0].T")]),
    ("a, b = input[0].chunk(2)\nreturn [a]\n", VEC, VEC, None, [("STEP306", "a")]),
    ("return [input[0].sum(1)]\n", VEC, F32, None, [("STEP306", "input[0].sum(1)")]),
    # paths
    ("if input[1] > 0:\n    return [input[0]]\n", TWO, VEC, None, [
        ("STEP307", "if input[1] > 0:\n    return [input[0]]")]),
    ("x = input[0]\n", VEC, VEC, None, [("STEP307", "x = input[0]")]),
    # component indices
    ("return [input[1]]\n", VEC, VEC, None, [("STEP308", "input[1]")]),
    ("return [input[0] * input[-3]]\n", TWO, VEC, None, [("STEP308", "input[-3]")]),
    ("a, b, c = input\nreturn [a]\n", TWO, VEC, None, [("STEP308", "a, b, c")]),
    ("return [state[1] + input[0]]\n", VEC, VEC, (0.0,), [("STEP308", "state[1]")]),
    # in place
    ("input[0].add_(1)\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "input[0].add_(1)")]),
    ("x = input[0]\nx += 1\nreturn [x]\n", VEC, VEC, None, [("STEP310", "x += 1")]),
    ("x, y = input\nx *= y\nreturn [x]\n", TWO, VEC, None, [("STEP310", "x *= y")]),
    ("input[0][1] = 0\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "input[0][1]")]),
    ("input[0] = input[0] * 2\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "input[0]")]),
    ("x = input[0][1:].unsqueeze(0)\nx.mul_(2)\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "x.mul_(2)")]),
    ("state[0] += input[0]\nreturn state\n", VEC, VEC, (0.0,), [("STEP310", "state[0] += input[0]")]),
    ("input_data['R'] += 1\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "input_data['R'] += 1")]),
    ("ctx[D] = 3\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "ctx[D]")]),
    ("input.append(1)\nreturn [input[0]]\n", VEC, VEC, None, [("STEP310", "input.append(1)")]),
    # too large
    ("return [torch.zeros(10**12) + input[0]]\n", VEC, VEC, None, [("STEP311", "torch.zeros(10**12)")]),
    ("return [input[0] * torch.full((9, 10**9), 1).sum()]\n", VEC, VEC, None, [
        ("STEP311", "torch.full((9, 10**9), 1)")]),
    ("n = 10**10\nreturn [input[0] + torch.ones(n).sum()]\n", VEC, VEC, None, [("STEP311", "torch.ones(n)")]),
    ("n = 10**10\nn = 3\nreturn [input[0] + torch.ones(n).sum()]\n", VEC, VEC, None, []),
    ("n = 3\nfor i in [1, 2]:\n    n = n * 10**9\nreturn [input[0] + torch.ones(n).sum()]\n", VEC, VEC, None, []),
    ("def f(n):\n    return torch.ones(n).sum()\nn = 10**10\nreturn [input[0] + f(2)]\n", VEC, VEC, None, []),
    ("n = 10**10\nreturn [input[0] + sum(torch.ones(n).sum() for n in [1])]\n", VEC, VEC, None, []),
    ("return [input[0].repeat(10**9).sum(0, keepdim=True).expand(D_value)]\n", VEC, VEC, None, [
        ("STEP311", "input[0].repeat(10**9)")]),
    ("return [input[0] + torch.arange(0, 10**12, 10**3)[0]]\n", VEC, VEC, None, [
        ("STEP311", "torch.arange(0, 10**12, 10**3)")]),
    ("return [input[0] + torch.arange(0, 10**12, 10**6)[0]]\n", VEC, VEC, None, []),
    ("return [input[0] * len(range(10**7))]\n", VEC, VEC, None, [("STEP311", "range(10**7)")]),
    ("return [input[0] * len([0] * 10**8)]\n", VEC, VEC, None, [("STEP311", "[0] * 10**8")]),
    ("return [input[0] * (2 ** 5000)]\n", VEC, VEC, None, [("STEP311", "2 ** 5000")]),
    # Nothing, as often as one likes, is nothing.
    ("return [input[0] * (len([] * 10 ** 112) + 1)]\n", VEC, VEC, None, []),
    ("return [input[0] * (len(10 ** 112 * '') + 1)]\n", VEC, VEC, None, []),
    ("return [input[0] * 1 ** 10 ** 112]\n", VEC, VEC, None, []),
    ("return [input[0] + torch.zeros(0, 10 ** 112).sum()]\n", VEC, VEC, None, []),
    ("return [input[0] * (len([[0] * 10 ** 112] * 0) + 1)]\n", VEC, VEC, None, [("STEP311", "[0] * 10 ** 112")]),
    ("return [input[0] * (1 << 5000)]\n", VEC, VEC, None, [("STEP311", "1 << 5000")]),
    ("return [input[0] * 2 ** 500]\n", VEC, VEC, None, []),
    ("return [torch.zeros(10**5, 10**3)[0, 0] + input[0]]\n", VEC, VEC, None, []),
    # the first round of a loop is looked at with what is known before it, not with what the loop makes
    ("x = []\nfor i in range(4):\n    x.extend([0] * 240000)\nreturn [input[0] * len(x)]\n", VEC, VEC, None, []),
    ("x = []\nfor i in range(2):\n    for j in range(2):\n        x.extend([0] * 200000)\nreturn [input[0] * len(x)]\n",
        VEC, VEC, None, []),
    ("x = []\nfor i in range(5):\n    x.extend([0] * 240000)\nreturn [input[0] * len(x)]\n", VEC, VEC, None, [
        ("STEP311", "x.extend([0] * 240000)")]),
    ("x = []\nfor i in range(4):\n    x.extend([0] * 240000)\nreturn [input[0] * len(x + [0] * 200000)]\n",
        VEC, VEC, None, [("STEP311", "x + [0] * 200000")]),
    ("x = [1, 2]\nx[:] = [1, 2, 3]\nreturn [input[0] * x[2]]\n", VEC, VEC, None, []),
    # several mistakes, several messages
    ("x = fooo\ny = torch.load(1)\nreturn [input[5]]\n", VEC, VEC, None, [
        ("STEP303", "fooo"), ("STEP304", "torch.load"), ("STEP308", "input[5]")]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "given", "result", "init", "expected"), TABLE)
def test_each_mistake_gives_one_message_at_its_place(
    body: str, given: Element, result: Element, init: Any, expected: list[tuple[str, str]]
) -> None:
    assert findings(fn(body, given, result, init)) == expected


FINE: list[tuple[str, Element, Element, Any]] = [
    ("return [gelu(input[0] @ input_data['W']) * input[1]]\n", TWO, VEC, None),
    ("return [state[0] + input[0]]\n", VEC, VEC, (0.0,)),
    ("x = input[0].clone()\nx += 1\nx[0] = 2\nx.add_(1)\nreturn [x]\n", VEC, VEC, None),
    ("x = input[0]\nx = x * 2\nx += 1\nreturn [x]\n", VEC, VEC, None),
    ("x = torch.zeros_like(input[0])\nx.scatter_(0, input[0].topk(2).indices, 1.0)\nreturn [x]\n", VEC, VEC, None),
    ("return [input[0]] if input[1] > 0.5 else [-input[0]]\n", TWO, VEC, None),
    ("if input[1] > 0:\n    return [input[0]]\nelse:\n    return [-input[0]]\n", TWO, VEC, None),
    ("if input[1] > 0:\n    y = input[0]\nelse:\n    y = -input[0]\nreturn [y]\n", TWO, VEC, None),
    ("return [torch.stack([input_data[f'{n}'] for n in ['R']]).sum(0)]\n", VEC, VEC, None),
    ("return [helper(input[0])]\n", VEC, VEC, None),
    ("a, b = input[0][0::2], input[0][1::2]\nreturn [torch.stack([a, b], dim=-1).flatten()]\n", VEC, VEC, None),
    ("half = D_value // 2\nreturn [torch.cat([-input[0][half:], input[0][:half]])]\n", VEC, VEC, None),
    ("a, b = input[0].chunk(2, dim=-1)\nreturn [torch.cat((b, a), dim=-1)]\n", VEC, VEC, None),
    ("v, i = torch.topk(input[0], depth)\nreturn [torch.zeros_like(input[0]).scatter(0, i, v)]\n", VEC, VEC, None),
    ("return [torch.zeros(16) + input[0]]\n", VEC, VEC, None),
    ("return [torch.nn.functional.one_hot(input[0].argmax(), E_value).float()]\n", VEC, Multihot(F32, E), None),
    ("return [torch.ops.aten.mm.default(input[0], input[0].T)]\n", Buffer(F32, [K, D]), Buffer(F32, [D, D]), None),
    ("return [input[0].mT]\n", Buffer(F32, [K, D]), Buffer(F32, [D, K]), None),
    ("x, *rest = input\nreturn [x * rest[0]]\n", TWO, VEC, None),
    ("return [*input]\n", VEC, VEC, None),
    ("f = lambda a, b=1: a + b\nreturn [f(input[0], b=depth)]\n", VEC, VEC, None),
    ("def g(a):\n    c = a + 1\n    return c * 2\nreturn [g(input[0])]\n", VEC, VEC, None),
    ("return [(y := input[0] * 2) + y]\n", VEC, VEC, None),
    ("total = 0\nfor i in range(3):\n    total = total + input[0] * i\nreturn [total]\n", VEC, VEC, None),
    ("'''doc'''\npass\nreturn [input[0]]\n", VEC, VEC, None),
    ("return [input[0].reshape(-1, 4).sum(dim=1, keepdim=True).expand(-1, 4).reshape(D_value)]\n", VEC, VEC, None),
    ("return [torch.where(input[0] > 0, input[0], 0.0)]\n", VEC, VEC, None),
    ("return [torch.full((D_value,), 2.0, dtype=input[0].dtype)]\n", VEC, VEC, None),
    ("return [input[0].squeeze()]\n", Buffer(F32, [D, 1]), VEC, None),
    ("return [input[0].max(0)[1].float()]\n", Buffer(F32, [K, D]), Buffer(F32, [K]), None),
    ("return [torch.einsum('i,j->ij', input[0], input[0])]\n", VEC, Buffer(F32, [D, D]), None),
    ("return [math.sqrt(2.0) * input[0]]\n", VEC, VEC, None),
    ("return [input[0] * torch.tensor(2.0)]\n", VEC, VEC, None),
    ("return [input[0][None].squeeze(0)]\n", VEC, VEC, None),
    ("return [input[0][..., :-1].sum() + input[0][-1]]\n", VEC, F32, None),
    ("return [input[0][:99]]\n", VEC, VEC, None),
    ("return [input[0].sum(())]\n", VEC, F32, None),
    ("return [torch.cumsum(input=input[0], dim=0)]\n", VEC, VEC, None),
    ("return [input[0]]\nreturn\n", VEC, VEC, None),
    ("x = ctx[D]\nreturn [input[0] * x]\n", VEC, VEC, None),
]  # fmt: skip


@pytest.mark.parametrize(("body", "given", "result", "init"), FINE)
def test_what_runs_is_not_complained_about(body: str, given: Element, result: Element, init: Any) -> None:
    modules = (("torch", "torch"), ("math", "math"))
    assert findings(fn(body, given, result, init), scope(modules=modules)) == []


def test_messages_say_what_was_expected_and_suggest_names() -> None:
    (unknown,) = check_fn(fn("return [input[0] * dept]\n"), scope())
    assert "did you mean 'depth'?" in unknown.message
    (call,) = check_fn(fn("return [torch.sofmax(input[0], 0)]\n"), scope())
    assert "did you mean 'softmax'?" in call.message
    (shape,) = check_fn(fn("return [input[0].sum()]\n"), scope())
    assert "expected (D,)" in shape.message
    assert "found    ()" in shape.message
    (component,) = check_fn(fn("return [input[2]]\n", TWO), scope())
    assert "2 components" in component.message


def test_spans_point_into_the_outer_file() -> None:
    outer = "- apply: |\n    x = 'ä' + bad\n    return [input[0]]\n"
    text = "x = 'ä' + bad\nreturn [input[0]]\n"
    first, second = outer.index("x ="), outer.index("return")
    source = Embedded(text, (first, second, len(outer)), Span(first, len(outer)), indent="    ")
    decl = FnDecl("f", "F", VEC, VEC, CodeBlock(source, ("input",)))
    (found,) = check_fn(decl, scope())
    assert outer[found.span.start : found.span.end] == "bad"


def test_a_folded_scalar_is_pointed_at_as_a_whole() -> None:
    source = Embedded("return [bad]\n", (0,), Span(7, 30), verbatim=False)
    (found,) = check_fn(FnDecl("f", "F", VEC, VEC, CodeBlock(source, ("input",))), scope())
    assert found.span == Span(7, 30)


@pytest.mark.parametrize(
    ("init", "result", "count"),
    [
        ((0.0,), VEC, 0),
        ((-1.0, 1.0), TWO, 0),
        ((2.0,), VEC, 1),
        ((0.0, 0.0), VEC, 1),
        ((float("-inf"),), Scalar("int32"), 1),
    ],
)
def test_init_fits_the_output(init: Any, result: Element, count: int) -> None:
    names = ", ".join(f"state[{i}]" for i in range(2 if result is TWO else 1))
    found = check_fn(fn(f"return [{names}]\n", VEC, result, init), scope())
    assert [d.code for d in found] == ["STEP309"] * count


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("return [torch.zeros(D_value)]\n", []),
        ("return [torch.zeros(D_value), 1]\n", ["STEP305"]),  # the codes of its run
        ("return [0]\n", ["STEP306"]),
        ("return (-1.0,)\n", ["STEP306"]),
        ("zero = torch.zeros(D_value)\nreturn [zero]\n", []),
        ("x = 1\n", ["STEP309"]),
        ("return [torch.load('x')]\n", ["STEP304"]),
        ("return [\n", ["STEP301"]),
    ],
)
def test_a_published_init_body_is_checked(text: str, codes: list[str]) -> None:
    decl = FnDecl("f", "F", VEC, VEC, block("return [state[0]]\n", "state", "input"), None, block(text, "self"))
    assert [d.code for d in check_fn(decl, scope())] == codes


def test_an_empty_body_does_not_return() -> None:
    assert [d.code for d in check_fn(fn(""), scope())] == ["STEP307"]
    assert [d.code for d in check_fn(fn("# nothing\n"), scope())] == ["STEP307"]


# Blocks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (PRELUDE, []),
        ("lin = torch.nn.Linear(3, 4)\nnoise = torch.randn(4)\n", []),
        ("def f(x):\n    y = x + 1\n    return y\n", []),
        ("H = Symbol('H')\nctx[H] = D_value // 2\nz = torch.zeros(H_value)\n", []),
        ("import torch\n", []),
        ("import os\n", ["STEP302"]),
        ("x = open('a')\n", ["STEP302"]),
        ("x = torch.load('a')\n", ["STEP304"]),
        ("x = undefined\n", ["STEP303"]),
        ("return 1\n", ["STEP302"]),
        ("def f(x):\n    return torch.rand(3) * x\n", ["STEP304"]),
        ("x = (\n", ["STEP301"]),
        ("", []),
    ],
)
def test_global_blocks(text: str, codes: list[str]) -> None:
    prelude = block(text)
    assert [d.code for d in check_block(prelude, FnScope(prelude=prelude), "prelude")] == codes


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("x = input_data['E0'] @ input_data['W']\nx.sum(-1)\n", []),
        ("earlier.sum(-1)\n", []),
        ("input_data['E9']\n", ["STEP303"]),
        ("input_data['E0'] += 1\n", ["STEP310"]),
        ("torch.randn(3)\n", ["STEP304"]),
        ("", ["STEP307"]),
    ],
)
def test_reference_blocks(text: str, codes: list[str]) -> None:
    assert [d.code for d in check_block(block(text), scope(), "reference", {"earlier"})] == codes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E_value = 3\nctx[E] = E_value\n", {"E": 3}),
        ("ctx[E] = 3\n", {"E": 3}),
        ("H_value = D_value // 2\nH = Symbol('H')\nctx[H] = H_value\n", {"H": 8}),
        ("a, b = 2, 3\nctx[E] = a * b + max(1, 4)\n", {"E": 10}),
        ("ctx[D] = ctx[M] * 2\n", {"D": 10}),
        ("n = 2\nn += 3\nctx[E] = n\n", {"E": 5}),
        ("ctx[E] = torch.zeros(3).numel()\n", {}),
        ("x = f()\nctx[E] = x\n", {}),
        ("ctx[E] = 10 ** 10 ** 10\n", {}),
        ("ctx[E] = 1 // 0\n", {}),
        ("ctx[E] = 1.5\n", {}),
        ("ctx[E = 3\n", {}),
        ("ctx[E] = -1\n", {}),
        ("ctx[E] = [3]\n", {}),
    ],
)
def test_constant_bindings_are_found_without_torch(text: str, expected: dict[str, int]) -> None:
    assert constant_bindings(block(text)) == expected


@pytest.mark.parametrize(
    ("text", "searched", "size"),
    [
        ("H = 2\nx = input_data['W'] * 3\nctx[E] = H", 0, 2),
        ("H = 2\nx = input_data['W'] * (H := 3)\nctx[E] = H", 1, None),
        ("H = 2\nx = [H for H in input_data['W']]\nctx[E] = H", 1, None),
    ],
)
def test_expressions_are_searched_for_names_only_where_they_may_bind_some(
    text: str, searched: int, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each expression that is no constant was, on the way of every body."""
    walked: list[ast.AST] = []

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        walked.append(node)
        return all_nodes(node)

    all_nodes = ast.walk
    monkeypatch.setattr(ast, "walk", walk)
    found = constant_bindings(block(text))
    assert sum(isinstance(node, ast.BinOp | ast.ListComp) for node in walked) == searched
    assert found == ({} if size is None else {"E": size})


def test_constant_bindings_read_the_sizes_of_the_run() -> None:
    prelude = block("H = Symbol('H')\nctx[H] = D_value // 2\n")
    assert constant_bindings(prelude, {"D": 64}) == {"H": 32}
    assert prelude_names(prelude) == {"H", "H_value"}


# Costs ------------------------------------------------------------------------------------------------------------


def test_costs_of_a_layer() -> None:
    shapes = {"W": (D, K)}
    cost = fn_cost(fn("return [gelu(input[0] @ input_data['W'])]\n", VEC, Buffer(F32, [K])), scope(), shapes)
    assert cost == FnCost(D * K * 2 + K, ((D, D * K * 4),))


def test_costs_of_elementwise_work_and_of_views() -> None:
    assert fn_cost(fn("return [input[0] * 2 + 1]\n"), scope()).flops == D * 2
    assert fn_cost(fn("return [input[0]]\n"), scope()) == FnCost(Dim.of(0), ())
    assert fn_cost(fn("return [input[0].sum()]\n", VEC, F32), scope()).flops == D
    assert (
        fn_cost(fn("return [torch.outer(input[0], input[1])]\n", STuple([VEC, Buffer(F32, [M])]), VEC), scope()).flops
        is None
    )


def test_costs_are_unknown_where_shapes_are() -> None:
    assert fn_cost(fn("return [helper(input[0])]\n"), scope()).flops is None
    assert fn_cost(fn("return [torch.einsum('i,i->', input[0], input[0])]\n", VEC, F32), scope()).flops is None


# The whole --------------------------------------------------------------------------------------------------------


def test_checking_does_not_import_torch() -> None:
    code = (
        "import sys\nfrom stepcore.fn import check, shapes, prelude\n"
        "sys.exit(any(name == 'torch' or name.startswith('torch.') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent.parent, check=False).returncode == 0


def test_the_allow_list_names_things_that_exist() -> None:
    import math

    import torch

    roots = {"torch": torch, "math": math, "torch.ops": torch.ops}
    for path, (functions, constants, modules) in allow.NAMESPACES.items():
        owner = roots.get(path) or eval(path, {"torch": torch})
        missing = [name for name in functions | constants | modules if not hasattr(owner, name)]
        assert not missing, (path, missing)
    names = allow.TENSOR_METHODS | allow.TENSOR_ATTRIBUTES
    assert [name for name in names if not hasattr(torch.Tensor, name)] == []
    assert [name for name in allow.ATEN if not hasattr(torch.ops.aten, name)] == []


def test_nothing_dangerous_is_on_the_allow_list() -> None:
    everything = set(allow.TENSOR_METHODS | allow.TENSOR_ATTRIBUTES | allow.BUILTINS)
    for functions, constants, modules in allow.NAMESPACES.values():
        everything |= functions | constants | modules
    forbidden = allow.names(
        """load save hub jit compile from_file from_numpy numpy data set_ storage untyped_storage apply_ map_
        register_hook backward eval exec open getattr format __import__ classes utils os sys load_library
        set_default_dtype manual_seed share_memory_ resize_ as_strided frombuffer tofile type_ print"""
    )
    assert not everything & forbidden
    assert not [name for name in everything if name.startswith("_")]


@pytest.mark.parametrize("size", [50_000, 199_000])
def test_long_and_deep_bodies_end_with_a_message(size: int) -> None:
    deep = "x = " + "(" * size + "1" + ")" * size + "\nreturn [input[0]]\n"
    assert [d.code for d in check_fn(fn(deep), scope())] == ["STEP301"]
    chain = "x = " + "-" * (size // 4) + "1\nreturn [input[0]]\n"
    assert [d.code for d in check_fn(fn(chain), scope())] == ["STEP301"]
    plus = "x = " + "+".join(["1"] * 500) + "\nreturn [input[0]]\n"
    assert [d.code for d in check_fn(fn(plus), scope())] == ["STEP301"]


def test_checking_is_linear_in_the_body() -> None:
    def calls(lines: int) -> int:
        body = "".join(f"x{i} = input[0] * {i} + 1\n" for i in range(lines)) + "return [input[0]]\n"
        count = 0

        def called(_frame: object, event: str, _argument: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(called)
        try:
            assert findings(fn(body)) == []
        finally:
            sys.setprofile(None)
        return count

    calls(50)
    assert calls(1600) < 12 * calls(200)


def test_what_global_binds_is_known_to_be_too_large() -> None:
    prelude = block("n = 10**11\nctx[E] = 4\n")
    body = block("return [input[0] + torch.ones(n).sum() + torch.ones(E_value * 10**8).sum()]\n", "input")
    scope = FnScope(prelude)
    decl = FnDecl("f", "f", VEC, VEC, body)
    assert [(item.code, item.message) for item in check_fn(decl, scope)] == [
        ("STEP311", "this makes a tensor of 100,000,000,000 numbers; at most 268,435,456 are possible"),
        ("STEP311", "this makes a tensor of 400,000,000 numbers; at most 268,435,456 are possible"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ctx[E] = 'a'\n", [("E", "'a'")]),
        ("E_value = -3\nctx[E] = E_value\n", [("E", "-3")]),
        ("ctx[E] = 10**12\n", [("E", "1000000000000")]),
        ("ctx[E] = 10**30\n", [("E", "an integer above 2**62")]),
        ("ctx[E] = 10**10**10\n", [("E", "an integer above 2**62")]),
        ("ctx[E] = 0\nctx[D] = 2.5\n", [("E", "0"), ("D", "2.5")]),
        ("ctx[E] = True\n", [("E", "True")]),
        ("ctx[E] = M\n", [("E", "the symbol M")]),
        ("ctx[E] = [3]\n", [("E", "a list")]),
        ("ctx[E] = None\n", [("E", "None")]),
        ("ctx[E] = torch.zeros(3).numel()\n", []),
        ("ctx[E] = 2**31\n", []),
    ],
)
def test_bindings_to_what_is_no_size(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(fault.name, fault.found) for fault in size_faults(block(text))] == expected


def test_a_tab_in_python_is_named() -> None:
    body = block("x = input[0]\n\treturn [x]\n", "input")
    (found,) = check_fn(FnDecl("f", "f", VEC, VEC, body), FnScope())
    assert (found.code, found.message) == ("STEP301", "a tab indents this line; use spaces, as in the other lines")


def test_a_clean_body_is_looked_at_once_under_all_names_and_a_wrong_one_names_its_function() -> None:
    def named(name: str, text: str) -> FnDecl:
        return FnDecl(name, name, VEC, VEC, CodeBlock(Embedded.whole(text), ("input",)))

    clean = "return [torch.relu(input[0]) * 3.0625]\n"
    left = []
    for name in ("first", "second"):
        with budget.using(Budget(1_000)) as own:
            assert check_fn(named(name, clean), FnScope()) == []
        left.append(own.left)
    assert left[0] < left[1] == 1_000
    for name in ("first", "second"):
        (found,) = check_fn(named(name, "return [input[0], input[0]]\n"), FnScope())
        assert found.message.startswith(f"{name} returns 2 components")


@pytest.mark.parametrize(
    ("given", "result", "said"),
    [
        ("_R", "_R//2", ""),
        ("_R", "_R + 1", ""),
        ("_R//2", "_R", "nothing says what _R is"),
        ("_R", "_S//2", "what _S is"),
    ],
)
def test_any_size_of_an_output_stands_alone_in_the_input(given: str, result: str, said: str) -> None:
    types = [parse_type(f"Tile(fp32, [{size}, 4])").element for size in (given, result)]
    assert types[0] is not None and types[1] is not None
    found = check_fn(FnDecl("f", "f", types[0], types[1], block("return input\n", "input")), FnScope())
    messages = [item.message for item in found if item.code == "STEP226"]
    assert len(messages) == bool(said) and all(said in message for message in messages)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("c = ctx\nc.clear()", "c"),
        ("c = ctx\nc[E] = 3", "c"),
        ("c = [ctx]\nc[0].clear()", "c"),
        ("ctx.clear()", "ctx"),
        ("def f(d):\n    d.clear()\nf(ctx)", "f"),
        ("m = torch.nn.Linear(3, 4)\nm.weight[0][0] = 3", "m"),
        ("m = torch.nn.Linear(3, 4)\nm.weight.fill_(3.0)", "m"),
        ("m = torch.nn.Linear(3, 4)\nw = m.weight\nw[0] += 1", "w"),
        ("m = torch.nn.Linear(3, 4)\nw = m.bias.view(2, 2)\nw.mul_(2)", "w"),
    ],
)
def test_global_changes_sizes_by_their_names_only_and_no_weights_in_place(lines: str, name: str) -> None:
    """A task with these passed, and its converted file was refused, or failed where it was imported."""
    (found,) = check_block(block(lines), FnScope(), "prelude")
    assert found.code == "STEP310"
    assert found.message.startswith(f"{name} ")


@pytest.mark.parametrize(
    "lines",
    [
        "ctx[E] = 3\nctx[E] += 1",
        "k = ctx[M]\nk += 1\nctx[E] = k",
        "m = torch.nn.Linear(3, 4)\nw = m.weight.clone()\nw[0] = 3\nw.mul_(2)",
        "w = torch.zeros(3)\nw[0] = 3\nxs = [1]\nxs.clear()",
    ],
)
def test_global_changes_what_it_made(lines: str) -> None:
    assert check_block(block(lines), FnScope(), "prelude") == []
