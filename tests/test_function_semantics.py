"""What the interpreter of functions, ``global`` and references makes of a text is what Python makes of it.

A converted task holds these texts as Python, and Python runs them there.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import pytest
import torch

from cli_inputs import TASK
from stepcore.check import check_text
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.frontend.python import read_module
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import FnRuntimeError
from stepcore.text.span import Embedded


def interpreted(text: str) -> dict[str, Any]:
    """Return the names that a ``global`` block binds."""
    scope = FnScope(prelude=CodeBlock(Embedded.whole(text)))
    names: dict[str, Any] = FnEnv(scope, {"M": 5}, {}, torch.float32).globals
    return names


def executed(text: str) -> dict[str, Any]:
    """Return the names that Python binds."""
    names: dict[str, Any] = {"M": object(), "M_value": 5}
    exec(text, names)
    return names


CASES = {
    "a conversion": 'a = [f"{\'x\'!r}", f"{\'x\'!s}", f"{1!r}", f"{\'\u00e4\'!a}"]',
    "a size as a key": "d = {}\nd[M] = 2\na = M_value",
    ":= in a comprehension": "x = 2\na = [(x := i) for i in range(2)]\nb = [[(y := i) for i in j] for j in ([1], [2])]",
    "iterators are true": "a = [1 if zip([], []) else 2, 1 if enumerate([]) else 2, 1 if reversed([]) else 2]",
    "zip is used up": "z = zip([1], [2])\na = [x for x in z]\nb = [x for x in z]",
    "enumerate sees what is added": "a = [1]\nfor i, x in enumerate(a):\n    if len(a) < 4:\n        a.append(i)",
    "reversed sees what is stored": "a = [1, 2]\nb = []\nfor x in reversed(a):\n    a[0] = 9\n    b.append(x)",
    "views change": "d = {}\nv = d.values()\nd[1] = 2\na = [len(v), list(v), list(d.items()), list(d.keys())]",
    "*= changes the list itself": "a = [1]\nb = a\nb *= 3",
    "+= changes the list itself": "a = [1]\nb = a\nb += (2, 3)",
    "+= takes all that has items": "a = [1]\nb = a\na += range(2)\na += 'xy'\na += {3: 4}\na += {5: 6}.values()",
    "+= of an item": "e = {'q': [1]}\na = e['q']\ne['q'] += {2: 3}.keys()\nb = [a is e['q'], a]",
    "a tuple is made anew": "a = (1,)\nb = a\nb += (2,)\nb *= 2",
    "the same list": "a = []\nb = a\nc = [a is b, a is [], None is None, a is not None]",
    "generators": "a = list(i for i in range(3))\nb = sum(i for i in range(3))\nc = dict((i, i) for i in range(2))",
    "a lambda of a comprehension": "x = 1\nf = [lambda: x for i in [1]]\nx = 5\na = f[0]()",
    "a helper of a helper": "def g():\n    return lambda: x\nx = 1\nf = g()\nx = 2\na = f()",
    "names of a helper around": "def g():\n    x = 1\n    f = lambda: x\n    x = 2\n    return f()\na = g()",
    "each round of a comprehension": "a = [f() for f in [lambda: i for i in range(3)]]",
    "a name of a round before": "a = [y for x in [1, 2] for y in ([0] if x == 1 else [y])]",
    "a generator is lazy": "a = []\nb = []\nx = 0\nfor i in ((x + i) for i in [1, 2]):\n    x = 10\n    b.append(i)",
    "all and any": "a = [all(zip([1], [0])), any(reversed([0, 1])), all({1: 0}.values())]",
}
REFUSED = {
    "numbers that are the same": "a = 999 + 1\nb = 1000\nc = a is b",
    "the length of an iterator": "a = len(zip([1], [2]))",
    "an iterator turned round": "a = reversed(zip([1], [2]))",
    "iterators inside each other": "z = [1]\nfor i in range(100):\n    z = enumerate(z)",
    "a list in a slice of itself": "a = [1]\nfor i in range(60):\n    a[len(a) // 2:0] = a",
    "+= of what has no items": "a = [1]\na += 1",
    "a list that holds itself": "a = [1]\na[0] = a\na += [2]",
    "a text in itself": "a = 'x'\nfor i in range(60):\n    a = f'{a}{a}'",
}
UNCHECKED = {
    "an argument twice": "def h(a, a):\n    return a",
    "break outside of a loop": "def h(a):\n    break\n    return a",
    "loops inside each other": "".join(f"{' ' * i}for i{i} in [0]:\n" for i in range(21)) + " " * 21 + "a = 1",
    "fractions that are the same": "a = 1.5 is 1.5",
    "bytes": "a = b'x'",
    "a dictionary in another": "a = {1: 2}\nb = {**a}",
    "a number in hexadecimal": f"a = 0x{'f' * 2000} % 7",
    "a slice of itself": "a = [1]\nfor i in range(60):\n    a[0:0] = a",
    "a generator for zip": "a = []\nb = list(zip([1], (a.append(i) for i in range(3))))",
}


def plain(value: Any) -> Any:
    """Return a value without iterators and views."""
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    return value if isinstance(value, int | float | str | dict | None) else "other"


@pytest.mark.parametrize("case", CASES)
def test_names_have_the_values_that_python_gives(case: str) -> None:
    found, expected = interpreted(CASES[case]), executed(CASES[case])
    names = [name for name, value in expected.items() if len(name) == 1 and not isinstance(value, FunctionType)]
    assert len(names) > 1
    for name in names:
        if name not in ("M", "d"):
            assert plain(found[name]) == plain(expected[name]), name


@pytest.mark.parametrize("case", REFUSED)
def test_what_python_alone_knows_or_never_ends_is_refused(case: str) -> None:
    with pytest.raises(FnRuntimeError):
        interpreted(REFUSED[case])


def test_a_list_that_holds_itself_is_named() -> None:
    with pytest.raises(FnRuntimeError, match="one of them holds itself"):
        interpreted(REFUSED["a list that holds itself"])


@pytest.mark.parametrize("case", UNCHECKED)
def test_so_does_check_where_the_text_tells(case: str) -> None:
    block = "".join(f"  {line}\n" for line in UNCHECKED[case].splitlines())
    found = check_text(f"global: |\n{block}{TASK}impl: return E0\n", "a.step.yaml").diagnostics
    assert {item.code for item in found} & {"STEP301", "STEP302", "STEP311"}


@pytest.mark.parametrize("default", ["[1]", "shared"])
def test_a_default_that_all_calls_share_is_not_changed(default: str) -> None:
    block = f"global: |\n  shared = [1]\n  def h(a={default}):\n      a.append(1)\n      return len(a)\n"
    text = TASK.replace("return [", "return [h() * ", 1)
    assert text != TASK
    assert "STEP310" in {item.code for item in check_text(f"{block}{text}impl: return E0\n", "a.step.yaml").diagnostics}


@pytest.mark.parametrize("change", ["x += 1", "y = (x := 2)", "for i in range(1):\n    x = 2", "z.append(2)"])
def test_what_a_file_does_to_a_constant_counts_in_its_functions(change: str) -> None:
    head = f"import stepcore as step\nimport torch\nx = 1\nz = [1]\n{change}\n"
    function = "@step.fn(input=step.f32, output=step.f32)\ndef f(input):\n    return [input[0] * x * len(z)]\n"
    prelude = read_module(head + function, "a.py").fn_scope.prelude
    assert prelude is not None
    names = FnEnv(FnScope(prelude=prelude), {}, {}, torch.float32).globals
    assert names["x"] * len(names["z"]) == 2
