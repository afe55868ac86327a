"""Draws Python files whose modules do whatever Python allows, and compares what Stepsmith reads with CPython.

CPython runs the modules, which are drawn here, in the test alone. What ``check`` accepts has to have CPython's values:
those that element functions read, and those that programs read.
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch

from stepcore.check import check_text
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.python import read_module
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import FnRuntimeError

HEAD = """\
from typing import Annotated

import functools
import math
import operator
from operator import setitem as put

import numpy as np
import torch
import torch.nn.functional as F

import stepcore as step
from stepcore.dims import M, N

"""
TAIL = """

@step.fn(input=step.f32, output=step.f32)
def scaled(input):
    return [input[0] * ({used})]


def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 1.0


@step.program(reference=reference, dims={{M: 5, N: 7}})
def p(E0: Annotated[step.Stream, step.f32, (N, M)]) -> Annotated[step.Stream, step.f32, (N, M)]:
    e = step.Map(fn=scaled).apply(E0)
{steps}    return e
"""
RAISED = (
    ArithmeticError, AttributeError, ImportError, LookupError, NameError, OSError, RuntimeError,
    StopIteration, SyntaxError, TypeError, ValueError,
)  # fmt: skip
MOST_LINES = 5000  # that a module may run
READ_BY_FUNCTIONS = ("c", "n", "fi", "r")
READ_BY_PROGRAMS = ("c", "n", "fi")


class Outcome(NamedTuple):
    """What became of one module: refused, raised by Python, or compared, with what differs."""

    kind: str
    text: str
    differs: str = ""


NUMBERS = r"""
len($l) ¦ $l[0] ¦ $l[-1] ¦ sum($l) ¦ $d[1] ¦ len($d) ¦ float($t[0]) ¦ $t.sum() ¦ 1 < c < 4 ¦ c < n > 1 ¦ c == 2 == n
not c ¦ c and n ¦ c or n ¦ -c ** 2 ¦ c // -2 ¦ -c % 3 ¦ 3 if c else 4 ¦ len('a' 'b' f'{c}') ¦ len('''x\ny''')
len(f'{c:>4}') ¦ len(f'{n!r}') ¦ max(c, n) ¦ min(l) ¦ sum(q for q in l if q > 1) ¦ len([q for q in l if q % 2])
len($l[1:]) ¦ sum(i * j for i, j in zip(l, k)) ¦ [*l, *k][-1] ¦ (lambda x, y=c: x + y)(1) ¦ int(7 / 2) ¦ round(2.5)
ﬁ ¦ l[::-1][0] ¦ {**d, 1: 7}[1] ¦ True + c ¦ abs(-c) ¦ divmod(7, 2)[1] ¦ A.x ¦ A.y[0] ¦ math.floor(2.5) ¦ len(str(c))
[[1, 2], [3]][1][0] ¦ c if c > 2 else n ¦ 1e3 ¦ 0x1f ¦ 1_0 ¦ (c := c + 1) ¦ any(q > 2 for q in l) ¦ sorted(l)[0]
[x for x in range(c)][-1] ¦ c << 1 ¦ c ^ n ¦ ~c ¦ $w ¦ $w ¦ $w ¦ max(l, key=lambda q: -q) ¦ min([], default=3)
int('11', 2) ¦ sum(l, 5) ¦ len(f'{c!s:>3}') ¦ list(range(1, 9, 3))[-1] ¦ range(9)[2] ¦ (1, 2)[True] ¦ len('ab' * c)
len('a' if c else 'bcd') ¦ 1 if 'a' in 'abc' else 2 ¦ 1 if c in l else 2 ¦ 1 if l is l else 2
7 if l == [1, 2, 3] else 8
list(zip(l, k))[0][1] ¦ list(enumerate(l))[1][0] ¦ list(reversed(l))[0] ¦ tuple(l)[0] ¦ l.index(l[0]) ¦ l.count(1)
d.get(1, 5) ¦ list(d)[0] ¦ list(d.values())[0] ¦ list(d.items())[0][1] ¦ 2 ** -1 ¦ 0.1 + 0.2 > 0.3 ¦ 7 // 0.5
len({1: 2, 1: 3}) ¦ len([*range(3)]) ¦ len(l[5:]) ¦ l[-2:][0] ¦ int(-2.5) ¦ int(True) ¦ abs(-2.5)
round(0.5)
len(range(9)[c:]) ¦ len("a" "b") ¦ len(b"ab") ¦ (c, n)[1] ¦ [[c] * 2 for _ in l][0][1]
dict(a=c)['a'] ¦ len(str(c) + 'x')
sum([q for p in [l, k] for q in p]) ¦ [i for i, q in enumerate(l) if q > 1][0]
(lambda *q: len(q))(*l) ¦ c.__add__(1)
len(set(l)) ¦ max(*l, c) ¦ all([]) ¦ float(c) / n ¦ not (c > 1 or n) ¦ None is None
len('ß'.upper()) ¦ ord('a') ¦ len('\\n')"""
SMALL = "1 ¦ 2 ¦ 3 ¦ c ¦ n ¦ fi ¦ c + 1 ¦ n - 1 ¦ len(l) ¦ l[0] ¦ k[-1] ¦ d[1] ¦ c * 2 - n"
CHANGES = """
$l.append($w) ¦ $l.extend([$w]) ¦ $l.insert(0, $w) ¦ $l.pop() ¦ $l.reverse() ¦ $l.sort() ¦ $l[0] = $w ¦ $l[0] += $w
$l[:1] = [$w, $w] ¦ $l += [$w] ¦ $l *= 2 ¦ del $l[0] ¦ $l.clear() ¦ $l.remove($l[0]) ¦ list.append($l, $w)
operator.setitem($l, 0, $w) ¦ put($l, 0, $w) ¦ operator.methodcaller('append', $w)($l) ¦ operator.iadd($l, [$w])
functools.partial($l.append, $w)() ¦ $t += $w ¦ $t[0] = $w ¦ $t.add_($w) ¦ $t.fill_($w) ¦ np.add(a, $w, a)
np.copyto(a, $w) ¦ torch.add($t, $w, out=$t) ¦ $t.data[0] = $w ¦ $t.data += $w ¦ np.add($t.numpy(), $w, $t.numpy())
np.exp($t.numpy(), $t.numpy()) ¦ a.fill($w) ¦ $t[:2].mul_(0).add_($w) ¦ torch.nn.init.constant_($t, $w) ¦ F.relu_($t)
$d[1] = $w ¦ $d.update({1: $w}) ¦ $d.pop(1) ¦ $d.setdefault(9, $w) ¦ del $d[2] ¦ $d |= {1: $w} ¦ globals()['c'] = $w
exec('n = 7') ¦ vars()['fi'] = $w ¦ setattr(A, 'x', $w) ¦ A.x = $w ¦ A.y.append($w) ¦ getattr($l, 'append')($w)
eval('$l.append(9)') ¦ sys.modules[__name__].n = $w ¦ [q.append($w) for q in [$l]] ¦ list(map($l.append, [$w]))
sorted([1, 2], key=lambda q: $l.append(q) or q) ¦ $l[-1] -= $w ¦ [($l.append(q), q)[1] for q in range(2) if q]
(lambda z: z.append($w))($l) ¦ print($l, $t) ¦ $l[0], $l[-1] = $l[-1], $l[0] ¦ locals()['c'] = $w
$l.__setitem__(0, $w) ¦ t.requires_grad_(False) ¦ list(map(operator.methodcaller('append', $w), [$l]))"""
ASSIGNMENTS = """
$c = $v ¦ $c = $v ¦ $c = $c = $w ¦ $c: int = $w ¦ $c: int ¦ c, *n = 1, 2, 3; n = n[0] ¦ *c, n = [1, 2, 3]; c = len(c)
(c, (n, fi)) = (1, (2, 3)) ¦ [c, n] = l[:2] ¦ c, n = {3: 1, 4: 2} ¦ $c = $v; $c = $w
c = n = fi = $w ¦ print(c := $w)
q = (n := $w) + 1 ¦ for c in [$w]: pass ¦ [fi := q for q in ($w, 2)] ¦ import math as mm ¦ import math as c
c = ($w)  # a comment ¦ $p += $w ¦ $p -= $w ¦ $p *= $w ¦ $p //= $w ¦ $p %= $w ¦ $p |= $w ¦ $p <<= $w
c, n = n, c ¦ l, k = k, l ¦ l[0], c = c, l[0] ¦ c, l[0] = l[0], c ¦ c, c = n, fi ¦ fi, n = n, ﬁ
del c ¦ del l[0] ¦ del d[1] ¦ del l ¦ q = c; del c; c = q ¦ del A.x ¦ del k[:1]"""
LISTS = """
$l ¦ $l[:] ¦ list($l) ¦ ($l, 1)[0] ¦ $l or k ¦ $l if c == 2 else k ¦ $l + k ¦ [*$l] ¦ $l * 1 ¦ {1: $l}[1] ¦ [$l][0]
(lambda: $l)() ¦ (lambda q=$l: q)() ¦ $l.copy() ¦ A.y ¦ [q for q in $l] ¦ max([$l, k], key=len) ¦ next(iter([$l]))
dict(z=$l)['z']"""
DICTS = "$d ¦ dict($d) ¦ {**$d} ¦ ($d,)[0] ¦ $d.copy() ¦ $d or {}"
TENSORS = """
$t ¦ $t[:] ¦ $t.view(3) ¦ $t.clone() ¦ $t.reshape(3) ¦ $t.T ¦ $t.detach() ¦ $t.data ¦ torch.from_numpy($t.numpy())
torch.as_tensor($t) ¦ $t + 0 ¦ torch.stack([$t, $t])[0] ¦ $t.view(3, 1)[:, 0] ¦ torch.from_numpy(a) ¦ $t.contiguous()
$t.float() ¦ $t.to(torch.float32)"""
HEADS = """
if c == 2: ¦ if c < n < 9: ¦ if l: ¦ for q in l: ¦ for c in range(3): ¦ for c, n in [(1, 2), (3, 4)]: ¦ while r < 4:
for l[0] in (5, 6): ¦ try: ¦ with torch.no_grad(): ¦ match c: ¦ match [c, n]: ¦ for q in l[:1]:
with open(__file__) as q: ¦ if torch.ones(2).sum() > 1: ¦ if (c := c + 1) > 2:"""
# Bodies of functions, and what is done with these; lines are divided by ``/``.
BODIES = """
global c/c = 7 ¦ global c/c = $w ¦ x.append(1) ¦ y = x/y[0] = 9/return y ¦ return $w ¦ def g(y):/    y.append(8)/g(x)
z = 1/def g():/    nonlocal z/    z += 1/    return z/g()/return z ¦ return x ¦ $l.append(4)
for y in [x]:/    y.pop()
global n, fi/n, fi = 8, 9 ¦ c = 9/return c ¦ x[0] += c/return len(x) ¦ return [lambda: x][0]()
if x:/    return 1/return 2 ¦ def g():/    global c/    c = 11/g() ¦ yield x
return sum(q for q in x if q > c) ¦ exec('x.append(3)') ¦ A.x = 3
globals()['c'] = 12 ¦ t.add_(1) ¦ t[0] = c"""
CALLS = """
$f ¦ $c = $f ¦ c = $w/$f ¦ g = $n/g($l) ¦ list(map($n, [$l])) ¦ n = y if isinstance(y := $f, int) else 1 ¦ pass
for q in $f or []: pass ¦ $n.x = 1 ¦ def $n(x=1): return 5/c = $n()"""
CLASSES = """
x = $w ¦ y = $l ¦ $l.append(5) ¦ global c/c = 13 ¦ c = 14 ¦ x: int = c ¦ def f(self):/    $l.append(6)/    return c
for q in $l:/    n = q ¦ def __init__(self):/    self.y = l ¦ def __setattr__(self, a, b):/    globals()['c'] = 5
def __getitem__(self, q):/    return $l"""
USES = """
$n.y = 3 ¦ c = getattr($n, 'x', 3) ¦ q = $n() ¦ getattr($n, 'y', []).append(7)
getattr($n(), 'f', int)() ¦ $n().z = 1
$n()[0].append(1) ¦ pass"""
COROUTINES = "$l.append(7) ¦ global c/c = 15 ¦ return c ¦ async for q in z: $l.append(q)"
BASE = [
    "c = 2", "n = 3", "fi = 4", "r = 1", "l = [1, 2, 3]", "k = [4, 5]", "d = {1: 2, 2: 3}", "t = torch.zeros(3)",
    "a = np.zeros(3)", "class A:", "    x = 5", "    y = [6]",
]  # fmt: skip


class Modules:
    """Draws the statements of one module. ``c``, ``n``, ``fi`` and ``r`` are numbers that are read at the end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lists, self.tensors, self.dicts = ["l", "k"], ["t"], ["d"]
        self.made = 0

    def text(self) -> str:
        lines = [*BASE]
        for _ in range(self.random.randint(1, 5)):
            lines += self.statement()
        return "\n".join([*lines, *([f"r = {self.one(NUMBERS)}"] if self.random.random() < 0.8 else [])])

    def one(self, table: str, name: str = "", call: str = "") -> str:
        """Draw one of a table, and what stands in it: $l, $d, $t a list, dictionary or tensor, $w a number."""
        text = self.random.choice([each for line in table.strip().splitlines() for each in line.split(" ¦ ")])
        return re.sub(r"\$(\w)", lambda found: self.filled(found[1], name, call), text)

    def filled(self, letter: str, name: str, call: str) -> str:
        match letter:
            case "l" | "d" | "t":
                return self.random.choice({"l": self.lists, "d": self.dicts, "t": self.tensors}[letter])
            case "w":
                return self.one(SMALL)
            case "v":
                return self.one(NUMBERS)
            case "p":
                return self.one("c ¦ n ¦ fi ¦ ﬁ ¦ l[0] ¦ k[-1] ¦ d[1] ¦ t[0] ¦ A.x ¦ a[0] ¦ $l[0]")
            case "c":
                return self.one("c ¦ n ¦ fi ¦ ﬁ")
        return {"n": name, "f": call}[letter]

    def suite(self, text: str) -> list[str]:
        return [f"    {line}" for line in text.split("/")]

    def inner(self) -> list[str]:
        """Return the statements of an inner suite."""
        return [f"    {self.one(self.random.choice(['$c = $v', CHANGES, '$c += $w', 'pass']))}"]

    def otherwise(self, chance: float) -> list[str]:
        return ["else:", *self.inner()] if self.random.random() < chance else []

    def statement(self) -> list[str]:
        kinds: list[Callable[[], list[str]]] = [
            lambda: [self.one(ASSIGNMENTS)], self.alias, self.compound, self.function, lambda: [self.one(CHANGES)],
        ]  # fmt: skip
        return self.random.choice([*kinds * 2, self.klass, self.coroutine])()

    def name(self) -> str:
        self.made += 1
        return f"v{self.made}"

    def alias(self) -> list[str]:
        new = self.name()
        kind = self.random.randint(0, 2)
        value = self.one((LISTS, DICTS, TENSORS)[kind])
        (self.lists, self.dicts, self.tensors)[kind].append(new)
        return [f"{new} = {value}"]

    def compound(self) -> list[str]:
        head = self.one(HEADS)
        match head.split()[0]:
            case "while":
                return [head, *self.inner(), "    r += 1", *self.otherwise(0.4)]
            case "for":
                return [
                    head,
                    *self.inner(),
                    *(["    break"] if self.random.random() < 0.3 else []),
                    *self.otherwise(0.4),
                ]
            case "try:":
                raised = self.one("raise ValueError ¦ c = l[99] ¦ pass")
                caught = self.one("except (ValueError, IndexError) as n: ¦ except Exception: ¦ except Exception:")
                end = self.random.choice([[], ["finally:", "    fi = 7"], ["else:", "    fi = 8"]])
                return [head, *self.inner(), f"    {raised}", caught, *self.inner(), *end]
            case "match" if head == "match c:":
                return [head, "    case 2 | 3:", "        n = 9", "    case n:", f"        {self.one(CHANGES)}"]
            case "match":
                return [head, f"    case [{self.one('c ¦ q')}, *fi]:", "        fi = 3", "    case _:", "        c = 8"]
        return [head, *self.inner(), *(self.otherwise(0.5) if head.startswith("if") else [])]

    def function(self) -> list[str]:
        name = self.name()
        default = self.one(" ¦ =$l ¦ =l ¦ =[1] ¦ =$l[:]").strip()
        head = f"def {name}(x{default}, y={self.one('c ¦ n ¦ 1')}):"
        call = f"{name}()" if default and self.random.random() < 0.5 else f"{name}({self.one('$l')})"
        return [head, *self.suite(self.one(BODIES)), *self.one(CALLS, name, call).split("/")]

    def klass(self) -> list[str]:
        name = self.name()
        return [f"class {name}:", *self.suite(self.one(CLASSES)), *self.one(USES, name).split("/")]

    def coroutine(self) -> list[str]:
        name = self.name()
        run = self.one("pass ¦ import asyncio; asyncio.run($n()) ¦ $n().close()", name)
        return [f"async def {name}():", *self.suite(self.one(COROUTINES)), run]


def file_of(body: str, reader: str) -> str:
    """Return a file with a module's statements, whose numbers a function reads, or a program."""
    if reader == "function":
        return HEAD + body + TAIL.format(used=" + ".join(READ_BY_FUNCTIONS), steps="")
    loop = "    for _ in range({} % 3 + 1):\n        e = step.Map(fn=scaled).apply(e)\n"
    return HEAD + body + TAIL.format(used="2", steps="".join(map(loop.format, READ_BY_PROGRAMS)))


def errors_of(text: str) -> list[str]:
    return [item.message for item in check_text(text, "a.py").diagnostics if item.severity is Severity.ERROR]


def run_by_python(text: str, file: str) -> dict[str, Any]:
    """Run a module that was drawn here; its output, warnings and random state are nobody's."""
    module: Any = types.ModuleType("drawn_module")
    module.__file__ = file
    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != file:
            return None  # of a library, or of an object of another test that is collected just now
        lines += 1
        if lines > MOST_LINES:
            raise RecursionError("this module does not end soon")
        return trace

    sys.modules["drawn_module"] = module
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    finally:
        sys.settrace(before)
        sys.modules.pop("drawn_module")
    return dict(module.__dict__)


def compared(seed: int, reader: str) -> Outcome:
    """Draw a module and compare; ``reader`` is "function" or "program": who reads its numbers."""
    text = file_of(Modules(seed).text(), reader)
    if errors_of(text):
        return Outcome("refused", text)
    try:
        found, real = numbers_of(text, reader)
    except RAISED:  # a module that Python cannot run has no values
        return Outcome("raised", text)
    names = READ_BY_FUNCTIONS if reader == "function" else READ_BY_PROGRAMS
    return Outcome("compared", text, "; ".join(_differences(found, real, names)))


def numbers_of(text: str, reader: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return what Stepsmith takes the names of a module for, and what Python does, which runs it."""
    real = run_by_python(text, __file__)
    module = read_module(text, "a.py")
    if reader == "program":
        return module.scope.names, real
    try:
        return FnEnv(module.fn_scope, {"M": 5, "N": 7}).globals, real
    except FnRuntimeError as error:
        raise AssertionError(f"checked, and a run says {error}\n{text}") from error


def _differences(found: Mapping[str, Any], real: Mapping[str, Any], names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if name not in real:
            yield f"{name} has no value in Python"
        elif name not in found:
            yield f"{name} was not read"
        elif not _same(found[name], real[name]):
            yield f"{name} is {real[name]!r}, and was read as {found[name]!r}"


def _same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor) or isinstance(other, torch.Tensor):
        return float(one) == float(other)  # type: ignore[arg-type]
    return one == other
