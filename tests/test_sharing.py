"""What changes a value in place counts for its functions, by whatever name and in whatever way a module does it.

Python is the oracle: it runs each module, and the functions of the file have to see the same values; so does ``global``
of the task that the file is converted to. What the closed language has not is refused where a function reads the value.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stepcore.check import check_text
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.changes import Changes
from stepcore.frontend.python import read_module
from stepcore.frontend.sharing import Sharing
from stepcore.frontend.sharing.facts import Key
from stepcore.frontend.sharing.groups import Groups
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.fnvec.errors import FnRuntimeError
from test_module_changes import imported, number, task

HELPER = "def g(x):\n    x.append(3)\n"
# Each changes ``l``, ``t`` or ``n`` behind the back of whoever searches for signs of it, and ends with a number ``c``.
CASES = {
    "unpacking": "l = [1]\nk = l\nk[0], z = 7, 8\nc = l[0]",
    "an annotation": "l = [1]\nk = l\nk[0]: int = 7\nc = l[0]",
    "brackets": "l = [1]\nk = l\n(k[0]) = 7\nc = l[0]",
    "a blank": "l = [1]\nk = l\nk. append(7)\nc = l[-1]",
    "a line break before a method": "l = [1]\nk = l\nk\\\n.append(7)\nc = l[-1]",
    "a line break of two marks": "l = [1]\nk = l\nk\\\r\n.append(7)\nc = l[-1]",
    "a list far inside": "\n".join(
        [
            "l = [1]",
            "l0 = [l]",
            *(f"l{i + 1} = [l{i}]" for i in range(80)),
            "k = l80",
            *["k = k[0]"] * 81,
            "k.append(7)",
            "c = l[-1]",
        ]
    ),
    "a line break": "l = [1]\nk = l\nk[0] \\\n  = 7\nc = l[0]",
    "two targets": "k = l = [1]\nk[0], z = 7, 8\nc = l[0]",
    "a loop": "l = [1]\nk = l\nfor (k[0]) in [7]:\n    pass\nc = l[0]",
    "a comprehension": "l = [1]\n[q.append(3) for q in [l]]\nc = l[-1]",
    "values of a dictionary": "l = [1]\nd = {1: l}\n[k.append(3) for k in d.values()]\nc = l[-1]",
    "a blank before a call": f"l = [1]\n{HELPER}g (l)\nc = l[-1]",
    "a helper in an if": "l = [1]\nif M_value == 5:\n    def g(x):\n        x.append(3)\ng(l)\nc = l[-1]",
    "another name for a helper": f"l = [1]\n{HELPER}f = g\nf(l)\nc = l[-1]",
    "a helper in a loop": f"l = [1]\n{HELPER}for f in [g]:\n    f(l)\nc = l[-1]",
    "a helper in a comprehension": f"l = [1]\n{HELPER}[g(q) for q in [l]]\nc = l[-1]",
    "what a helper gives": "l = [1]\ndef g():\n    return l\ng().append(3)\nc = l[-1]",
    "a name for what a helper gives": "l = [1]\ndef g():\n    return l\nk = g()\nk.append(3)\nc = l[-1]",
    "what a helper is given": "l = [1]\nf = lambda x: x\nf(l).append(3)\nc = l[-1]",
    "methods side by side": "l = [1]\na, b = l.append, 1\na(3)\nc = l[-1]",
    "a method in a list": "l = [1]\nfs = [l.append]\nfs[0](3)\nc = l[-1]",
    "a method of a tensor": "t = torch.zeros(3)\nf = t.add_\nf(3)\nc = t[0]",
    "a name in a helper": "l = [1]\ndef f(x):\n    y = x\n    y.append(3)\nf(l)\nc = l[-1]",
    "a helper of a helper": "l = [1]\ndef f(x):\n    def g(y):\n        y.append(3)\n    g(x)\nf(l)\nc = l[-1]",
    "a loop in a helper": "l = [[1]]\ndef f(x):\n    for y in x:\n        y.append(3)\nf(l)\nc = l[0][-1]",
    "its own name in a helper": "l = [1]\ndef f():\n    k = l\n    k.append(3)\n    return 1\nd = f()\nc = l[-1]",
    "a helper keeps it": "l = [1]\ndef f(x, y):\n    x.append(y)\nk = []\nf(k, l)\nk[0].append(3)\nc = l[-1]",
    "a sum of lists": "l = [1]\nk = [l] + [2]\nk[0].append(3)\nc = len(l)",
    "a list twice": "l = [1]\nk = [[l] * 2, 3]\nk[0][1].append(3)\nc = len(l)",
    "a copy": "l = [[1]]\nk = l + []\nk[0].append(3)\nc = len(l[0])",
    "appended": "l = [[1]]\nk = []\nk.append(l)\nk[0][0].append(3)\nc = len(l[0])",
    "inserted": "l = [1]\nk = [0]\nk.insert(0, l)\nq = k[0]\nq.append(3)\nc = len(l)",
    "an item of a dictionary": "d = {1: 2}\nk = d\nd[1] = 7\nc = k[1]",
    "an item of a dictionary of two names": "k = d = {1: 2}\nd[1] = 7\nc = k[1]",
    "an item of a dictionary in a list": "d = {1: 2}\nl = [d]\nd[1] = 7\nc = l[0][1]",
    "an item of a dictionary in a dictionary": "d = {1: 2}\nk = {1: d}\nd[1] = 7\nc = k[1][1]",
    "an item of a dictionary that a helper gives": "d = {1: 2}\ndef g():\n    return d\nk = g()\nd[1] = 7\nc = k[1]",
    "an item of a dictionary by another name": "d = {1: 2}\nk = d\nk[1] = 7\nc = d[1]",
    "an item of a dictionary that loops see": "d = {1: 2}\nl = [q for q in [d]]\nd[1] = 7\nc = l[0][1]",
    "an item of a spread dictionary": "l = [1]\nd = {1: l}\nk = dict(d)\nd[1] = 7\nk[1].append(3)\nc = l[-1]",
    "+=": "l = [1]\nk = [0]\nk += [l]\nk[1].append(3)\nc = len(l)",
    "a tensor that was appended": "t = torch.zeros(3)\nk = []\nk.append(t)\nk[0][0] += 3\nc = t[0]",
    "an item of a view": "t = torch.zeros(3)\nu = t[1:]\nu[0], z = 3, 4\nc = t[1]",
    "a condition": "l = [1]\n(l if M_value == 5 else []).append(3)\nc = len(l)",
    "or": "l = [1]\nk = l\n(k or l).append(3)\nc = len(l)",
    ":=": "l = [1]\n(k := l).append(3)\nc = len(l)",
    "a dictionary": "l = [1]\nk = l\n{'a': k}['a'][0] = 5\nc = l[0]",
    "a key": "l = [1]\nk = l\nsorted([0], key=lambda z: k.append(7) or 1)\nc = l[-1]",
    "a name that a helper reads later": "n = 3\ndef f():\n    return n\nn = 4\nc = f()",
    "a default": "l = [1]\ndef f(x=l.append(7)):\n    return 1\nc = l[-1]",
    "a helper that is bound later": "def f():\n    return g()\ndef g():\n    return 1\nc = f()\ndef g():\n    return 2",
}


def compare(prelude: str, folder: Path) -> None:
    """Hold the values of a task, its converted file and the task of that against each other."""
    read = read_task(task(prelude), "a.step.yaml")
    assert read.spec is not None
    text = task_to_python(read)
    value = float(imported(text, folder).c)
    module = read_module(text, "a.py")
    again = read_task(python_to_task(module, module.programs[0]), "a.step.yaml")
    assert again.spec is not None
    found = [number(read.spec.scope), number(module.fn_scope), number(again.spec.scope)]
    assert found == [value] * 3, prelude


@pytest.mark.parametrize("case", CASES)
def test_what_changes_a_value_counts_for_its_functions(case: str, tmp_path: Path) -> None:
    compare(CASES[case], tmp_path)


BASE = "l = [1, 2]\nd = {'a': 3}\nt = torch.zeros(3)\nn = 3"
USED = "l[-1] + d['a'] + t[0] + n"
REFUSED = [
    "d.update({'a': 4})",
    "d.setdefault('b', 4)",
    "def f():\n    global n\n    n = 4\nf()",
    "del l[0]",
    "del n",
    "import random\nrandom.shuffle(l)",
    "import numpy as np\nnp.copyto(t, 3)",
    "setattr(t, 'x', 3)",
    "torch.relu_(t)",
    "torch.nn.functional.relu(t, inplace=True)",
    "torch.add(t, 3, out=t)",
    "torch.nn.init.constant_(t, 3)",
    "class A:\n    def f(self):\n        l.append(7)\nA().f()",
    "class A:\n    l.append(7)",
    "import asyncio\nasync def f():\n    l.append(7)\nasyncio.run(f())",
    "def deco(f):\n    l.append(7)\n    return f\n@deco\ndef g():\n    pass",
    "assert l.append(7) is None",
    "with torch.no_grad():\n    t.add_(3)",
]
# In ways that nobody had tried: methods and functions that the closed language has not, patterns, generators, classes.
REFUSED += [
    "t.uniform_()", "t.resize_(2)", "t.set_(torch.ones(3))", "t.t_()", "t.apply_(lambda q: 3)", "t.__iadd__(5)",
    "import operator\noperator.iadd(t, 5)", "t.__setitem__(0, 5)", "torch.Tensor.__setitem__(t, 0, 4)",
    "t.numpy().fill(7)", "u = t.numpy()\nu.put([0], [4])", "import numpy as np\nnp.put(t.numpy(), [0], [5])",
    "import functools\nfunctools.reduce(lambda a, b: a.add_(b), [t, 1])", "list(map(lambda q: q.add_(1), [t]))",
    "def g(q):\n    q.add_(1)\nlist(map(g, [t]))", "getattr(t, 'add_')(1)", "f = getattr(t, 'add_')\nf(3)",
    "f = torch.Tensor.add_\nf(t, 1)", "match t:\n    case x:\n        x += 1",
    "match [t]:\n    case [x]:\n        x.add_(1)", "match {'a': t}:\n    case {'a': x}:\n        x.add_(1)",
    "match [0, t]:\n    case [0, *x]:\n        x[0] += 1", "match {'a': t}:\n    case {**x}:\n        x['a'] += 1",
    "def f():\n    yield t\nfor x in f():\n    x.add_(1)", "def f():\n    yield from [t]\nfor x in f():\n    x.add_(1)",
    "class A:\n    q = t\nA.q.add_(1)", "def dec(f):\n    f(t)\n    return f\n@dec\ndef h(q):\n    q.add_(1)",
    "[0 for t[1] in [3]]", "torch._foreach_add_([t], 1)", "u = [t]\ntorch._foreach_zero_(u)",
    "torch.nn.utils.vector_to_parameters(torch.ones(3), [t])",
]  # fmt: skip
OWN = [
    "print(l, d, t, n)",
    "import numpy as np\nnp.save('f', t)",
    "def main():\n    l = [3]\n    l.append(4)\n    print(l)\nmain()",
    "def test_it():\n    x = torch.zeros(3)\n    x.add_(3)\n    o = []\n    o.append(a.apply(x))\ntest_it()",
    "results = []\nfor i in range(3):\n    results.append(t.sum())\nprint(results)",
    "results = {}\nresults['t'] = float(t.sum())\nresults.update(n=3)",
    "u = t.clone()\nu.add_(1)\nprint(u)",
    "import json\nwith open('x', 'w') as f:\n    json.dump(l, f)",
    "x = torch.randn(5, 7)\nx[0] = 0\ny = a.apply(x)\nprint(y)",
    "def helper(rows):\n    rows[0] = 1\n    return rows\nx = helper(torch.zeros(5, 7) + t[0])\nprint(x)",
    "t.requires_grad_()",
    "import queue\nq = queue.Queue()\nq.put(3)",
    "match t:\n    case x:\n        print(x)",
    "def f():\n    yield t\nprint(*f())",
    "print(list(map(float, t)))",
    "u = t.numpy()\nprint(u.mean())",
    "print(getattr(t, 'shape'))",
    "class A:\n    def run(self):\n        self.x = []\n        self.x.append(3)\n        print(self.x)\nA().run()",
]


def with_statement(statement: str) -> str:
    """Return a file whose function reads four constants, with a statement between these and the function."""
    text = task_to_python(read_task(task(f"{BASE}\nc = {USED}"), "a.step.yaml"))
    text = text.replace("return [input[0] * c]", f"return [input[0] * ({USED})]")
    assert text.count("\n\n@step.fn") == 1
    return text.replace("\n\n@step.fn", f"\n\n{statement}\n\n\n@step.fn")


def errors(text: str) -> list[str]:
    return [item.code for item in check_text(text, "a.py").diagnostics if item.severity is Severity.ERROR]


@pytest.mark.parametrize("statement", REFUSED)
def test_a_change_that_the_language_has_not_is_refused_where_a_function_reads_the_value(statement: str) -> None:
    assert errors(with_statement("pass")) == []
    assert {*errors(with_statement(statement))} & {"STEP302", "STEP303", "STEP304", "STEP310"}


def test_sizes_that_a_script_fills_in_need_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Sharing] = []
    take = Sharing.__init__

    def counted(self: Sharing, *given: Any) -> None:
        built.append(self)
        take(self, *given)

    monkeypatch.setattr(Sharing, "__init__", counted)
    script = Path(__file__).parent / "published" / "etoe_mixture_of_depths.py"
    text = script.read_text(encoding="utf-8")
    assert "ctx[E] = E_value" in text
    read_module(text, "a.py")
    assert built == []
    read_module(text.replace("ctx[E] = E_value", "input_data[E] = E_value"), "a.py")  # functions read input_data
    assert built


@pytest.mark.parametrize("statement", OWN)
def test_what_a_module_does_with_values_is_its_own_affair_while_it_changes_none(statement: str) -> None:
    assert errors(with_statement(statement)) == []
    assert errors(f"{with_statement('pass')}\n\n{statement}\n") == []


LONG = {
    "aliases": "\n".join(["l0 = l", *(f"l{i + 1} = l{i}" for i in range(999)), "l9.append(2)"]),
    "sums": "\n".join([*(f"a{i} = a{i + 1} + 1" for i in range(999)), "a999 = l", "a0.append(3)"]),
    "helpers": "\n".join(["def g0(x):\n    x.append(1)", *(f"g{i + 1} = g{i}" for i in range(999)), "g9(l)"]),
    "lists in lists": "\n".join(["l0 = [l]", *(f"l{i + 1} = [l{i}]" for i in range(2999)), "l.append(2)"]),
    "lists in lists, changed": "\n".join(
        ["l0 = [l]", *(f"l{i + 1} = [l{i}]" for i in range(999)), *(f"l{i}.append(2)" for i in range(999))]
    ),
    "a ring of lists": "\n".join(["l0 = [l]", *(f"l{i + 1} = [l{i}]" for i in range(999)), "l0[0] = l999"]),
    "calls": "\n".join([*(f"def h{i}():\n    return h{i + 1}()" for i in range(999)), "l[0] = h0()"]),
}


@pytest.mark.parametrize("case", LONG)
def test_long_chains_are_followed_once(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    walk, find = ast.walk, Groups.find

    def walked(node: ast.AST) -> Iterator[ast.AST]:
        nonlocal steps
        for each in walk(node):
            steps += 1
            yield each

    def found(self: Groups, key: Key) -> Key:
        nonlocal steps
        steps += 1
        return find(self, key)

    monkeypatch.setattr(ast, "walk", walked)
    monkeypatch.setattr(Groups, "find", found)
    text = with_statement(LONG[case])
    read_module(text, "a.py")
    assert 0 < steps < 5 * len(text)  # once for each statement before: 40 times as many


class Aliases:
    """Draws modules that give lists many names and change them by these."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = ["l", "k"]
        self.helpers: list[str] = []
        self.made = 0

    def text(self) -> str:
        lines = ["l = [[1], [2]]", "k = [3]"]
        for _ in range(self.random.randint(3, 7)):
            lines += self.statement()
        return "\n".join([*lines, f"c = {self.one('len(l[0])', 'len(l)', 'len(k)', 'len(l[-1])', 'k[-1]')}"])

    def one(self, *texts: str) -> str:
        return self.random.choice(texts)

    def new(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def name(self) -> str:
        return self.random.choice(self.names)

    def value(self) -> str:
        a, b = self.name(), self.name()
        return self.one(
            a, f"[{a}, {b}]", f"({a}, {b})[1]", f"{a} or {b}", f"{a} if M_value == 6 else {b}", f"{a}[0]", f"{a}[-1]",
            f"{a}[:]", f"list({a})", f"{a} + {b}", f"[*{a}]", f"{{1: {a}}}[1]", f"[q for q in {a}]", f"{a}.copy()",
            f"[{a}] * 2", f"(lambda: {a})()", f"{a}.pop()", *(f"{helper}({a})" for helper in self.helpers),
        )  # fmt: skip

    def change(self, what: str) -> str:
        return self.one(
            f"{what}.append({self.one('7', '[9]', self.name())})", f"{what}.extend([5])", f"{what}[0] = [4]",
            f"{what}.reverse()", f"{what}.insert(0, [0])", f"{what}[0], z = 11, 12", f"{what}.pop(0)",
        )  # fmt: skip

    def statement(self) -> list[str]:
        match self.random.randint(0, 9):
            case 0 | 1 | 2:
                value, name = self.value(), self.new()
                self.names.append(name)
                return [f"{name} = {value}"]
            case 3 | 4:
                return [self.change(self.one(self.name(), f"{self.name()}[0]", f"({self.name()} or k)"))]
            case 5:
                return [f"for q in [{self.value()}]:", f"    {self.change('q')}"]
            case 6:
                return [f"[{self.one('q.append(7)', 'q.pop()')} for q in [{self.name()}]]"]
            case 7 | 8:
                inner = self.one("p", "y", "for", *(f"{helper}(p)" for helper in self.helpers))
                lines = {
                    "p": [self.change("p")],
                    "y": ["y = p", self.change("y")],
                    "for": ["for y in p:", f"    {self.change('y')}"],
                }.get(inner, [inner])
                head, end = self.new(), self.one("p", "p[0]", "[p]", "1", self.name(), "p + []")
                self.helpers.append(head)
                return [f"def {head}(p):", *(f"    {line}" for line in lines), f"    return {end}"]
        name, of = self.new(), self.name()
        return [f"{name} = {of}.append", f"{name}([3])"]


def test_drawn_modules_have_the_values_that_python_gives(tmp_path: Path) -> None:
    same = 0
    for seed in range(150):
        text = Aliases(seed).text()
        if any(item.severity is Severity.ERROR for item in check_text(task(text), "a.step.yaml").diagnostics):
            continue
        try:
            compare(text, tmp_path)
        except (FnRuntimeError, TypeError, AttributeError, IndexError, RecursionError):
            continue  # Python raises as well, or the interpreter does: nothing is taken for something else
        same += 1
    assert same > 60


def dictionaries(seed: int) -> str:
    """Draw a module that gives dictionaries many names and does nothing with them but store items."""
    draw = random.Random(seed)
    names, helpers, lines = ["d", "e"], list[str](), ["d = {1: 2}", "e = {1: 5, 2: 3}"]
    for step in range(draw.randint(3, 8)):
        a, b, new = draw.choice(names), draw.choice(names), f"v{step}"
        values = (
            a, f"[{a}, {b}][1]", f"{{1: {a}}}[1]", f"({a} or {b})", f"{a} if M_value == 6 else {b}", f"(lambda: {a})()",
            f"dict({a})", f"{{1: 2, 3: 4}} if M_value == 5 else {a}", f"max({a}, {b}, key=len)",
        )  # fmt: skip
        match draw.randint(0, 5):
            case 0 | 1:
                lines.append(f"{new} = {draw.choice(values)}")
                names.append(new)
            case 2:
                lines += [f"def {new}():", f"    return {draw.choice(values)}"]
                helpers.append(new)
            case 3 if helpers:
                lines.append(f"{new} = {draw.choice(helpers)}()")
                names.append(new)
            case _:
                lines.append(f"{a}[{step + 10}] = {draw.choice([b, '7'])}")
    return "\n".join([*lines, f"c = len({draw.choice(names)})"])


def test_drawn_dictionaries_have_the_items_that_python_gives(tmp_path: Path) -> None:
    same = 0
    for seed in range(120):
        text = dictionaries(seed)
        if any(item.severity is Severity.ERROR for item in check_text(task(text), "a.step.yaml").diagnostics):
            continue
        try:
            compare(text, tmp_path)
        except (FnRuntimeError, TypeError):
            continue
        same += 1
    assert same > 60


SORTS = {
    "x.sort(dim=0).values": True,
    "x.sort(descending=True).values": True,
    "x.sort()": False,
    "l.sort(key=len)": False,
}


@pytest.mark.parametrize("sort", SORTS)
def test_a_sort_of_a_tensor_changes_nothing(sort: str) -> None:
    source = f"l = [1]\ndef f(x):\n    return {sort}"
    statements = [(each, ast.get_source_segment(source, each) or "") for each in ast.parse(source).body]
    assert Changes(statements).are_settled({"l"}) is SORTS[sort]


def test_published_files_hardly_need_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups cost a fifth of a check; a file that binds sizes by ``ctx[E] = E_value`` needs none."""
    made: list[int] = []
    init = Sharing.__init__

    def counted(self: Sharing, *given: Any) -> None:
        made.append(len(given[0]))
        init(self, *given)

    monkeypatch.setattr(Sharing, "__init__", counted)
    files = sorted((Path(__file__).parent / "published").glob("*.py"))
    for file in files:
        check_text(file.read_text(encoding="utf-8"), str(file))
    assert len(made) <= 3 < len(files)  # those whose helpers fill tensors item by item
