"""What ``global`` made is the same in each call: a run refuses to change it, whatever check could not see."""

from __future__ import annotations

import pytest
import torch

from stepcore.dims import D
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.sim.fnvec import CompiledFn, FnEnv, FnRuntimeError
from stepcore.sim.fnvec.env import block_names, evaluate_block
from stepcore.text.span import Embedded, Span
from stepcore.types import Buffer, Scalar

GLOBAL = """\
c = [1, 2]
table = {'a': [3]}
bump = c.append
add = lambda: c.append(1)
hand = lambda: c
takes = lambda seen=[1]: seen
steps = enumerate([5, 6])
inside = [reversed([1, 2])]
pair = ([1], 2)
def counting():
    seen, sums = [0], torch.zeros(4)
    def count():
        seen[0] += 1
        return seen[0]
    def note(x):
        seen.append(x)
        return len(seen)
    def total(x):
        sums.add_(x)
        return sums
    return count, note, total, lambda: sums
count, note, total, sums = counting()
def defaulted():
    def note(x, seen=[1]):
        seen.append(x)
        return len(seen)
    return note
keep = defaulted()
"""
REFUSED = {
    "a method by a name": "bump(1)",
    "a lambda": "add()",
    "what a lambda gives": "hand().append(1)",
    "what a lambda gives, joined on": "d = hand()\nd += [1]",
    "what a lambda gives, so many times": "d = hand()\nd *= 2",
    "what stands in what a lambda gives": "(lambda: table)()['a'].append(1)",
    "an item, joined on": "d = [hand()]\nd[0] += [1]",
    "an item put in place": "d = hand()\nd[0] = 4",
    "a default": "d = takes()\nd.append(1)",
    "a list in a tuple": "(lambda: pair)()[0].append(1)",
    "an iterator": "n = len(list(steps))",
    "an iterator in a list": "n = [q for q in inside[0]]",
    "an item that a helper keeps": "n = count()",
    "a list that a helper keeps": "n = note(1)",
    "a tensor that a helper keeps": "n = total(1)",
    "a tensor that a lambda hands out": "sums().add_(1)",
    "a default that a helper keeps": "n = keep(1)",
}
LEGAL = {
    "its items": "n = c[0] + len(table['a']) + hand()[1] + takes()[0] + pair[0][0]",
    "lists of its own": "d = [*hand()]\nd.append(1)\ne = hand() + [1]\ne[0] = 3\ne += d",
    "a copy": "d = hand().copy()\nd.append(1)",
    "a tensor of its own": "d = sums() * 1\nd.add_(1)",
    "its own dictionary by another name": "a = {'x': 1}\nb = a\nb |= {'x': 2}\nreturn [input[0] * a['x']]",
    "iterators of its own": "n = len(list(enumerate(c)))\nm = [q for q in reversed(c)]",
}
SCOPE = FnScope(CodeBlock(Embedded.whole(GLOBAL)), sizes=(("D", 4),))
VEC = Buffer(Scalar("fp32"), [D])


def run(body: str, dtype: torch.dtype) -> FnEnv:
    """Run a body twice, and once as a reference."""
    env = FnEnv(SCOPE, {"D": 4}, dtype=dtype)
    text = CodeBlock(Embedded.whole(f"{body}\nreturn [input[0] * 2]"), ("input",))
    compiled = CompiledFn(FnDecl("f", "F", VEC, VEC, text, span=Span(0, 1)), env)
    given = torch.arange(12, dtype=dtype).view(3, 4)
    for _ in range(2):
        assert torch.equal(compiled.call([[given]], 1)[0], given * 2)
    return env


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_global_made_does_not_change_in_a_run(body: str, dtype: torch.dtype) -> None:
    with pytest.raises(FnRuntimeError) as raised:
        run(body, dtype)
    assert raised.value.code == "STEP310"


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_nor_does_it_for_a_reference(body: str) -> None:
    block = CodeBlock(Embedded.whole(f"{body}\ntorch.ones(4)"))
    with pytest.raises(FnRuntimeError) as raised:
        evaluate_block(block, FnEnv(SCOPE, {"D": 4}), block_names([block]))
    assert raised.value.code == "STEP310"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("body", LEGAL.values(), ids=LEGAL)
def test_what_is_made_of_it_may_change(body: str, dtype: torch.dtype) -> None:
    env = run(body, dtype)
    assert env.globals["c"] == [1, 2]
    assert env.globals["table"] == {"a": [3]}
