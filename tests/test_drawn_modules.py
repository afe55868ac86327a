"""What Stepsmith reads of a module without running it has CPython's values, or the file is refused.

Modules are drawn, and what they found stands beside them.
"""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from drawn_modules import READ_BY_FUNCTIONS, compared, errors_of, file_of, numbers_of

BASE = "c = 2\nn = 3\nfi = 4\nr = 1\nl = [1, 2, 3]\nt = torch.zeros(3)\n"


@pytest.mark.parametrize("reader", ["function", "program"])
def test_drawn_modules_have_the_values_of_python(reader: str) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(60):
        outcome = compared(seed, reader)
        kinds[outcome.kind] += 1
        assert not outcome.differs, f"{outcome.differs}\n{outcome.text}"
    assert kinds["compared"] > 15 and kinds["refused"] > 15, kinds


# What changes a value that is read behind the back of who looks for signs of it, for functions and for programs.
REFUSED = [
    "np.add(t.numpy(), 1, t.numpy())\nc = float(t[0])",
    "np.exp(t.numpy(), t.numpy())\nc = float(t[0])",
    "operator.methodcaller('append', 9)(l)\nc = len(l)",
    "f = operator.methodcaller('append', 9)\nf(l)\nc = len(l)",
    "list(map(operator.methodcaller('append', 9), [l]))\nc = len(l)",
    "put(l, 0, 9)\nc = l[0]",
    "f = operator.setitem\nf(l, 0, 9)\nc = l[0]",
    "functools.partial(put, l)(0, 9)\nc = l[0]",
    "list.append(l, 9)\nc = len(l)",
    "m = torch.nn.Linear(2, 2)\nm.weight.data.fill_(2)\nc = float(m.weight[0, 0])",
    "t.data += 1\nc = float(t[0])",
    "import helpers\nhelpers.prepare(l)\nc = len(l)",
    "from helpers import prepare as f\ng = f\ng(l)\nc = len(l)",
    "exec('c = 7')",
    "globals()['c'] = 7",
    "globals().update(c=7)",
    "vars()['c'] = 7",
    "locals()['c'] = 7",
    "eval('l.append(9)')\nc = len(l)",
    "import sys\nsys.modules[__name__].c = 7",
    "import sys\nsetattr(sys.modules[__name__], 'c', 7)",
    "from sys import modules as x\nx[__name__].c = 7",
    "import builtins\nbuiltins.max = min\nc = max(1, 2)",
    "def f():\n    exec('c = 7', globals())\nf()",
    "f = exec\nf('c = 7')",
    "def f():\n    global c\n    c = 7\nf()\nr = sum(i * j for i, j in zip(l, l))",
    "async def f():\n    global c\n    c = 7\nimport asyncio; asyncio.run(f())\nr = sum(i for i in l)",
    "with torch.no_grad():\n    c = 7",
    "while c < 7:\n    c += 1",
    "del c",
]


@pytest.mark.parametrize("reader", ["function", "program"])
@pytest.mark.parametrize("body", REFUSED)
def test_what_is_not_followed_is_refused(body: str, reader: str) -> None:
    assert errors_of(file_of(BASE, reader)) == []
    assert errors_of(file_of(BASE + body, reader))


@pytest.mark.parametrize(
    "body",
    [
        "torch.relu = torch.sin",
        "F.relu = torch.sin",
        "setattr(torch.nn.functional, 'relu', torch.sin)",
        "vars(torch)['relu'] = torch.sin",
        "torch.set_default_dtype(torch.float64)",
        "c = torch.randn(3)[0]",
        "torch.manual_seed(3)\nc = torch.rand(1)",
        "from math import floor\nc = floor(2.5)",
        "from operator import neg\nc = neg(2)",
    ],
)
def test_what_functions_would_read_otherwise_is_refused(body: str) -> None:
    used = file_of(BASE + body, "function").replace("return [input[0]", "return [torch.relu(input[0])")
    assert errors_of(used)


@pytest.mark.parametrize(
    "body",
    [
        "if True:\n    c = 7",
        "for c in range(8):\n    pass",
        "q = (c := 7)",
        "def f(x=c):\n    return x\nc = 7\nn = f()",
        "l.append(7)\nc = len(l)",
        "k = l\nk += [7]\nc = len(l)",
        "c = len(f'{c:>4}')",
        "def f():\n    z = 1\n    def g():\n        nonlocal z\n        z += 1\n    g()\n    return z\nc = f()",
        "c = len(f'{l!r}')",
        "c, *n = 1, 2, 3\nn = n[0]",
        "from helpers import *",
        "T = c\nc = 7",
    ],
)
def test_programs_run_with_values_that_are_followed_only(body: str) -> None:
    text = file_of(BASE + body, "program")
    if body.startswith("T = "):  # the program's type is read where Python reads it
        text = text.replace("(N, M)]) ->", "(N, M + c)]) ->")
        text = f"{text}\n\nc = 9\n"
    assert errors_of(text)


FOLLOWED = {
    "+= of a number": ("c += 5", "c"),
    "+= of what is read": ("c += n * 2 - 1\nn -= 1", "n"),
    "an if that nothing reads": ("if True:\n    q = 7", "c"),
    "a list that nothing reads": ("rows = []\nrows.append(3)", "c"),
    "settings of torch": ("torch.backends.cudnn.benchmark = True", "c"),
    "names of objects": ("class A:\n    pass\nprint(vars(A()))", "c"),
    "parts of a network": ("class A:\n    def modules(self):\n        return []\nq = [*A().modules()]", "c"),
    "two statements in a line": ("n = fi; fi = 9", "n"),
    "two statements that share a line": ("q = [1,\n  2]; c = 5", "c"),
    "a function of Python by another name": ("max = min\nc = max(1, 2)", "c"),
    "letters that are the same to Python": ("ﬁ = 7", "fi"),
}


@pytest.mark.parametrize("reader", ["function", "program"])
@pytest.mark.parametrize("case", FOLLOWED)
def test_what_is_followed_has_the_value_of_python(case: str, reader: str) -> None:
    body, name = FOLLOWED[case]
    text = file_of(BASE + body, reader)
    assert errors_of(text) == []
    found, real = numbers_of(text, reader)
    assert name in READ_BY_FUNCTIONS and float(found[name]) == float(real[name])


@pytest.mark.parametrize(
    ("again", "is_right"),
    [
        ("from stepcore.dims import M, N", True),
        ("import stepcore as step", True),
        ("from stepcore.dims import K as M, N", False),
        ("M = 7\nfrom stepcore.dims import M, N", False),
    ],
)
def test_an_import_that_is_made_again_changes_nothing(again: str, is_right: bool) -> None:
    """Types of a program are read behind the whole file, where another import would have bound their names again."""
    text = file_of(BASE, "program")
    assert "from stepcore.dims import" in text and "import stepcore as step" in text
    assert (errors_of(f"{text}\n\n{again}\n") == []) is is_right


def test_a_global_that_python_refuses_is_no_file() -> None:
    assert any("global declaration" in message for message in errors_of(file_of(BASE + "global c\nc = 3", "function")))
    assert errors_of(file_of(f"global c\n{BASE}", "function")) == []


def test_drawn_modules_leave_torch_as_it_was() -> None:
    before = torch.relu, torch.get_default_dtype()
    compared(3, "function")
    assert before == (torch.relu, torch.get_default_dtype())


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        ("if l:\n    c, n = 7, 8\n    fi = 9", "c, n and fi are"),
        ("for c, n in [(1, 2)]:\n    pass", "c and n are"),
        ("for c in range(3):\n    pass", "c is"),
        ("exec('c = 7')", "c, n and fi are"),
    ],
)
def test_what_one_statement_loses_is_one_finding(statement: str, names: str) -> None:
    found = errors_of(file_of(f"{BASE}{statement}\n", "program"))
    assert [text for text in found if "is not followed" in text] == found[:1]
    assert found[0].startswith(f"what {names} after `{statement.splitlines()[0]}`")


def test_two_statements_that_lose_names_are_two_findings() -> None:
    found = errors_of(file_of(f"{BASE}for c in range(3): pass\nfor n, fi in [(1, 2)]: pass\n", "program"))
    assert [text.partition(" after")[0] for text in found if "is not followed" in text] == [
        "what c is",
        "what n and fi are",
    ]


@pytest.mark.parametrize(
    ("statement", "way_out"),
    [
        (f"from {'a_package_with_a_long_name.' * 4}helpers import *", "import by name"),
        ("for c in ['import *']: 'import *'", "bind c once"),
    ],
)
def test_the_way_out_of_a_star_import_does_not_depend_on_what_is_shown(statement: str, way_out: str) -> None:
    found = [text for text in errors_of(file_of(f"{BASE}{statement}\n", "program")) if "is not followed" in text]
    assert len(found) == 1 and way_out in found[0]
