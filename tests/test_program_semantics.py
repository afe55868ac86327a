"""What the checker takes a program to be is what Python makes of the same text.

A task's program is interpreted by elaboration; its converted file is run by Python. Where both could differ (names for
the same list, iterators, defaults, scopes, truth), an answer would be judged as one program and delivered as another.
So each of these programs ends with the same values in both, or is refused.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from stepcore.findings import budget
from stepcore.findings.diagnostics import Severity
from stepcore.fn.decl import FnScope
from stepcore.frontend import closed
from stepcore.frontend.elaborate import Abandon, Elaborator
from stepcore.frontend.values import DictView, Helper, Method, OnePass, ProgramBuiltin, Scope
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded

_MOST_LINES = 3000
_MOST_ITEMS = 5000


class TooMuch(Exception):
    """Python would not end, or not soon."""


def elaborated(
    text: str, around: Mapping[str, Any] | None = None, sizes: Mapping[str, int] | None = None
) -> tuple[list[str], dict[str, Any]]:
    """Return the errors of a program and the values of its names; ``around`` are names outside of it."""
    el = Elaborator("program", dict(sizes or {}))
    el.is_task = True
    scope = Scope({}) if around is None else Scope({}, Scope(dict(around)))
    code, body = Embedded.whole(text), ast.parse(text).body
    with budget.limited(len(text)):
        el.run(body, scope, code)
        told = [item for item in el.diagnostics if item.code != "STEP219"]  # that nothing is returned
        told += closed.outside(body, code, scope, FnScope(), told, strict=True, whole=el.whole)
    found = [item.message for item in told if item.severity is Severity.ERROR]
    if not found and el.undecided is not None:
        found.append(f"undecided: {el.undecided[1]}")
    return found, scope.names


def executed(text: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the values that Python gives to the names; :class:`TooMuch` where it makes or does too much.

    ``given`` are names around the program.
    """
    names: dict[str, Any] = {
        **(given or {}),
        "__builtins__": {name: getattr(__import__("builtins"), name) for name in _BUILTINS},
    }
    lines = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal lines
        lines += 1
        held = [value for value in frame.f_locals.values() if isinstance(value, list | tuple)]
        if lines > _MOST_LINES or any(len(value) > _MOST_ITEMS for value in held):
            raise TooMuch
        return trace

    before = sys.gettrace()
    function = "def program():\n" + "".join(f"    {line}\n" for line in text.splitlines()) + "    return locals()\n"
    exec(compile(function, "program", "exec"), names)
    sys.settrace(trace)
    try:
        result: dict[str, Any] = names["program"]()
    finally:
        sys.settrace(before)
    return result


_BUILTINS = (
    "range",
    "zip",
    "enumerate",
    "len",
    "list",
    "tuple",
    "reversed",
    "min",
    "max",
    "int",
    "sum",
    "abs",
    "locals",
)


def plain(value: Any, around: tuple[Any, ...] = ()) -> Any:
    """Return a value with its types, iterators by what is left in them; functions are all alike."""
    if any(value is each for each in around):
        return "itself"
    match value:
        case Helper() | Method() | ProgramBuiltin():
            return "function"
        case Dim():
            return ("size", str(value))
        case None | bool() | int() | float() | str():
            return (type(value).__name__, repr(value))
        case dict():
            return ("dict", [(plain(key), plain(item, (*around, value))) for key, item in value.items()])
    if callable(value):
        return "function"
    kind, items = type(value).__name__, value
    if isinstance(value, OnePass):
        kind, items = "iterator", value.items
    elif isinstance(value, DictView) or kind in ("dict_keys", "dict_values", "dict_items"):
        kind, items = "view", value.look() if isinstance(value, DictView) else value
    elif not isinstance(value, list | tuple | range):
        kind = "iterator"
    try:
        return (kind, [plain(item, (*around, value)) for item in items])
    except (RuntimeError, Abandon):  # of a dictionary that has got another size
        return (kind, "broken")


def compare(text: str) -> bool:
    """Hold both against each other; False where the program is refused."""
    found, values = elaborated(text)
    if found:
        return False
    try:
        expected = executed(text)
    except Exception as error:
        raise AssertionError(f"checked, but Python says {type(error).__name__}: {error}\n{text}") from error
    for name, value in expected.items():
        assert plain(values[name]) == plain(value), f"{name} differs\n{text}"
    return True


# What once had another value in the checker, or none that it knew. All are small: the values are compared.
CASES = {
    "*= changes the list itself": "c = [1]\nb = c\nb *= 3",
    "*= in a helper": "def h(x):\n    x *= 2\n    return 1\nc = [1]\nd = h(c)",
    "*= of a tuple makes another": "c = (1,)\nb = c\nb *= 3",
    "+= changes the list itself": "c = [1]\nb = c\nb += (2, 3)",
    "a default is one value for all calls": "def h(a=[1]):\n    a += a\n    return len(a)\nx = [h(), h(), h([5]), h()]",
    "a default of a lambda": "h = lambda a=[1]: a.append(2)\nx = h()\ny = h()\nz = h",
    "a default is evaluated at the definition": "n = 1\ndef h(k=n):\n    return k\nn = 2\nx = h()",
    "an element that a loop adds is a round": "a = [1]\nfor x in a:\n    if len(a) < 5:\n        a.append(x)",
    "the same in enumerate": "a = [1]\nfor i, x in enumerate(a):\n    if i < 5:\n        a.append(x)",
    "the same in a comprehension": "a = [1]\nb = [a.append(x) if len(a) < 5 else 0 for x in a]",
    "what is removed is no round": "a = [1, 2, 3, 4]\nb = []\nfor x in a:\n    b.append(a.pop())",
    "zip is used up": "z = zip([1, 2], [3, 4])\na = [x for x in z]\nb = [x for x in z]",
    "zip takes one more of the first": "e = enumerate([1, 2, 3])\na = [x for x in zip(e, [5])]\nb = list(e)",
    "enumerate sees what is stored": "a = [1, 2, 3]\nb = []\nfor i, x in enumerate(a):\n    a[2] = i\n    b.append(x)",
    "reversed sees what is stored": "a = [1, 2, 3]\nb = []\nfor x in reversed(a):\n    a[0] = 9\n    b.append(x)",
    "iterators are true": "a = [1 if zip([]) else 2, 1 if enumerate([]) else 2, 1 if reversed([]) else 2]",
    "ranges have a length": "a = [1 if range(0) else 2, len(range(3)), range(5)[1], range(5)[::2], 3 in range(4)]",
    "a range is no list": "a = 1 if range(3) == [0, 1, 2] else 2\nb = 1 if range(3) == range(0, 3) else 2",
    "views change": "d = {1: 2}\nv = d.values()\nk = d.keys()\nd[3] = 4\na = [len(v), len(k), list(k), 1 if v else 0]",
    "a view in a test": "d = {1: 2}\nk = d.keys()\na = [1 in k, 2 in d.values(), (1, 2) in d.items(), 3 in d]",
    "zero is false": "a = [1 if 0.0 else 2, 1 if 0.5 else 2, 0.0 or 5, 1.0 and 6, not 0.0]",
    "fractions are keys": "d = {1.5: 1, 2.5: 2}\nd[3.5] = 3\na = [k for k in d]\nb = d[1.5]",
    ":= in a comprehension": "x = [1]\na = [(x := x + x) for i in range(3)]",
    ":= in two comprehensions": "a = [[(y := i + j) for i in range(2)] for j in range(2)]\nb = y",
    ":= in a test": "a = [i for i in range(4) if (n := i) > 1]\nb = n",
    "tests after one that fails": "a = [1]\nb = [i for i in range(3) if i > 1 if a.append(i) is None]",
    "None by itself": "a = None\nb = [a is None, a is not None, [] is None, True is not None]",
    "the same list": "a = []\nb = a\nc = [a is b, a is [], [] is not a]",
    "stars take what is left": "z = enumerate([1, 2])\na, *b = z\nc = [*z, 1]",
    "helpers see later names": "def h():\n    return n\nn = 1\na = h()\nn = 2\nb = h()",
    "generators": "a = list(i for i in range(3))\nb = sum(i for i in range(3))\nc = max(i for i in (1, 2))",
    "numbers": "a = [max(1, 2), max([1, 2]), min((3, 1)), sum([1, 2]), abs(-3), int(4), sum(range(4))]",
    "methods by name": "a = []\nf = a.append\nf(1)\nf(2)",
    "a negative amount": "a = [1, 2]\na *= -1\nb = (1,) * -1",
}
REFUSED = {
    "a slice that is stored": "a = [1]\na[0:0] = a",
    "a dictionary that grows": "d = {1: 1}\nfor k in d:\n    d[k + 1] = 1",
    "no key": "d = {None: 1}",
    "bytes": "a = 1 if b'' else 2",
    "a complex number": "a = 1 if 0j else 2",
    "a complex power": "a = (-8) ** 0.5",
    "numbers that are the same": "a = 1 if 1000 is 1000 else 2",
    "texts that are the same": "a = 1 if 'x' is 'x' else 2",
    "tuples that are the same": "a = 1 if () is () else 2",
    "in an iterator": "z = zip([1], [1])\na = (1, 1) in z",
    "an item of an iterator": "a = zip([1], [2])[0]",
    "an item of a view": "a = {1: 2}.keys()[0]",
    "a sum of ranges": "a = range(2) + range(3)",
    "the length of an iterator": "a = len(zip([1]))",
    "two numbers to add": "a = sum(1, 2)",
    "one number is no list": "a = max(5)",
    "a list is no number": "a = abs([1])",
    "a name that zip does not take": "a = list(zip([1], key=2))",
    "lists of other lengths": "a = list(zip([1], [1, 2], strict=True))",
    "a lazy generator": "a = []\nb = [x for x in zip([1], (a.append(i) for i in range(3)))]",
    "a generator for a helper": "def list(x):\n    return [x, [y for y in x]]\na = list(i for i in range(3))",
    "a number in hexadecimal": f"a = 0x{'f' * 2000}\nb = 1",
    "break outside of a loop": "def h(x):\n    break\n    return x\na = 1",
    "an argument twice": "def h(a, a):\n    return a\nb = 1",
    "two stars": "*a, *b = [1, 2]",
    "a bound name of the comprehension": "a = [0 for i in range(1) if (i := 1)]",
    "loops inside each other": "".join(f"{' ' * i}for i{i} in [0]:\n" for i in range(21)) + " " * 21 + "a = 1",
    "iterators inside each other": "z = [1]\nfor i in range(4000):\n    z = enumerate(z)",
}
# Each doubles something sixty times in Python, and did so behind the checker's back.
ENDLESS = {
    "another name": "c = [1]\nfor i in range(60):\n    b = c\n    b *= 2",
    "a helper": "def h(x):\n    x *= 2\n    return 1\nc = [1]\nfor i in range(60):\n    d = h(c)",
    "a default": "def h(a=[1]):\n    a += a\n    return 0\nfor i in range(60):\n    b = h()",
    "a comprehension": "x = [1]\n" + "a = [(x := x + x) for i in range(10)]\n" * 6,
    "its own list": "a = [1]\nfor x in a:\n    a.append(x)",
    "its own list in zip": "a = [1]\nfor i, x in zip(a, a):\n    a.append(x)",
    "its own list in a comprehension": "a = [1]\nb = [a.append(x) for x in a]",
    "a fraction": "a = [1]\nfor i in range(60):\n    if not 0.0:\n        a = a + a",
    "a range": "a = [1]\nfor i in range(60):\n    if range(3) != [0, 1, 2]:\n        a = a + a",
}


@pytest.mark.parametrize("case", CASES)
def test_a_program_has_the_values_that_python_gives(case: str) -> None:
    assert compare(CASES[case])


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_nothing_or_another_thing_to_python_is_refused(case: str) -> None:
    found, _ = elaborated(REFUSED[case])
    assert found


@pytest.mark.parametrize("case", ENDLESS)
def test_what_python_would_do_for_ever_is_refused(case: str) -> None:
    found, _ = elaborated(ENDLESS[case])
    assert found
    with pytest.raises(TooMuch):
        executed(ENDLESS[case])


# -- drawn programs ----------------------------------------------------------------------------------------------------


class Programs:
    """Draws programs of numbers (n, m), lists (a, b), tuples (t), dictionaries (d), iterators (z, v) and helpers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.helpers = 0
        self.bound: list[str] = []  # numbers that loops bind

    def text(self) -> str:
        """Return a program."""
        lines = [
            "n = 1",
            "m = 2",
            "a = [1, 2]",
            "b = [3]",
            "t = (4, 5)",
            "d = {1: 2}",
            "z = zip(a, b)",
            "v = d.values()",
        ]
        for _ in range(self.random.randint(2, 6)):
            lines += self.statement(0)
        return "\n".join(lines) + "\n"

    def one(self, *texts: str) -> str:
        """Return one of some texts."""
        return self.random.choice(texts)

    def number(self, depth: int = 0) -> str:
        """Return a number."""
        simple = ["n", "m", "0", "1", "2", *self.bound]
        if depth > 2 or self.random.random() < 0.4:
            return self.one(*simple)
        match self.random.randint(0, 10):
            case 0 | 1:
                return f"({self.number(depth + 1)} {self.one('+', '-', '*')} {self.number(depth + 1)})"
            case 2 | 3:
                return f"len({self.one('a', 'b', 't', 'd', 'v', self.sized(depth + 1))})"
            case 4:
                return f"({self.number(depth + 1)} if {self.test(depth + 1)} else {self.number(depth + 1)})"
            case 5:
                return f"{self.one('max', 'min')}({self.number(depth + 1)}, {self.number(depth + 1)})"
            case 6 if self.helpers:
                return f"h{self.random.randrange(self.helpers)}({self.one('', '', self.name(), self.items(depth + 1))})"
            case 7:
                return f"({self.one('n', 'm')} := {self.number(depth + 1)})"
            case 8:
                return f"d[{self.one('1', 'n')}]"
            case 9:
                return f"{self.name()}.pop()"
        return f"{self.one('a', 'b', 't')}[{self.one('0', '-1')}]"

    def name(self) -> str:
        """Return the name of a list."""
        return self.one("a", "b")

    def sized(self, depth: int) -> str:
        """Return what has a length."""
        if depth > 2:
            return self.one("a", "b", "t", "d", "v")
        match self.random.randint(0, 7):
            case 0:
                return f"range({self.number(depth + 1)})"
            case 1:
                return f"{self.one('list', 'tuple')}({self.items(depth + 1)})"
            case 2:
                return f"[*{self.items(depth + 1)}, {self.number(depth + 1)}]"
            case 3 | 4:
                return self.comprehension(depth)
            case 5:
                return f"{self.name()}[{self.one('', '1', '-1')}:{self.one('', '2', 'n')}]"
            case 6:
                return f"d.{self.one('keys', 'values', 'items')}()"
        return self.one("a", "b", "t", "d", "v")

    def comprehension(self, depth: int) -> str:
        """Return a comprehension; its name is hidden from the loops around."""
        around = self.items(depth + 1)
        self.bound.append("i")
        tests = "".join(f" if {self.test(depth + 1)}" for _ in range(self.random.choice([0, 0, 1, 2])))
        item = self.one(self.number(depth + 1), f"{self.name()}.append({self.number(depth + 1)})", "i")
        self.bound.pop()
        return f"[{item} for i in {around}{tests}]"

    def items(self, depth: int = 0) -> str:
        """Return what can be gone through."""
        if depth > 2 or self.random.random() < 0.3:
            return self.one("a", "b", "t", "d", "z", "v")
        match self.random.randint(0, 4):
            case 0:
                return f"enumerate({self.items(depth + 1)})"
            case 1:
                return f"zip({self.items(depth + 1)}, {self.items(depth + 1)})"
            case 2:
                return f"reversed({self.sized(depth + 1)})"
        return self.sized(depth)

    def test(self, depth: int = 0) -> str:
        """Return a condition."""
        if depth > 2:
            return self.number(depth)
        match self.random.randint(0, 8):
            case 0 | 1 | 2:
                sign = self.one("==", "!=", "<", "<=", ">", ">=")
                return f"{self.number(depth + 1)} {sign} {self.number(depth + 1)}"
            case 3:
                return self.items(depth + 1)
            case 4:
                return f"{self.number(depth + 1)} {self.one('in', 'not in')} {self.sized(depth + 1)}"
            case 5:
                return f"{self.one('a', 'b', 'None')} {self.one('is', 'is not')} {self.one('a', 'b', 'None')}"
            case 6:
                return f"{self.one('not ', '')}({self.test(depth + 1)} {self.one('and', 'or')} {self.test(depth + 1)})"
            case 7:
                return f"{self.sized(depth + 1)} {self.one('==', '!=')} {self.sized(depth + 1)}"
        return self.one("0.0", "0.5", "''", "'x'", "None", "True", "zip()", "range(0)")

    def statement(self, depth: int) -> list[str]:
        """Return the lines of a statement."""
        match self.random.randint(0, 15 if depth < 2 else 10):
            case 0:
                return [f"{self.one('n =', 'm =', 'n +=', 'm -=')} {self.number()}"]
            case 1:
                return [f"{self.name()} = {self.one(self.name(), '[1]', self.comprehension(0))}"]
            case 2:
                return [f"{self.name()} *= {self.one('0', '2', self.number())}"]
            case 3:
                return [f"{self.name()} += {self.one(self.name(), 't', '[n]')}"]
            case 4 | 5:
                added = f"append({self.number()})"
                return [f"{self.name()}.{self.one(added, 'reverse()', 'pop()', 'insert(0, n)', 'extend([n, m])')}"]
            case 6:
                return [f"z = {self.items()}"]
            case 7 | 8:
                item = f"{self.name()}[{self.one('0', '-1')}]"
                return [f"{self.one(item, f'd[{self.number()}]')} = {self.number()}"]
            case 9:
                return [f"{self.one('a, b', 'b, a', 'n, m', 'n, *a', '*b, m')} = {self.one('b, a', 't', self.items())}"]
            case 10:
                return [self.number()]
            case 11 | 12 | 13:
                around = self.items()
                self.bound.append("x")
                body = self.block(depth)
                self.bound.pop()
                return [f"for x in {around}:", *body]
            case 14:
                return [f"if {self.test()}:", *self.block(depth), "else:", *self.block(depth)]
        return self.helper(depth)

    def block(self, depth: int) -> list[str]:
        """Return the lines of a suite."""
        lines = [line for _ in range(self.random.randint(1, 2)) for line in self.statement(depth + 1)]
        return [f"    {line}" for line in lines]

    def helper(self, depth: int) -> list[str]:
        """Return the definition of a helper function, which changes what it is given."""
        head = f"def h{self.helpers}(p={self.one('[1]', 'a', 'b', '[n]')}):"
        lines = [head, f"    p {self.one('+= p', '*= 2', '+= [n]')}", f"    return {self.one('len(p)', 'p[0]')}"]
        self.helpers += 1
        return lines


def readable(texts: Iterable[str]) -> Iterator[str]:
    """Yield those programs that Python can read."""
    for text in texts:
        try:
            compile("def program():\n" + "".join(f"    {line}\n" for line in text.splitlines()), "program", "exec")
        except SyntaxError:
            continue
        yield text


def drawn(seed: int) -> Iterator[str]:
    """Yield programs that Python can read."""
    return readable(Programs(seed * 10_000 + number).text() for number in range(600))


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("seed", range(1))
def test_drawn_programs_have_the_values_that_python_gives(seed: int) -> None:
    outcomes = [compare(text) for text in drawn(seed)]
    assert sum(outcomes) > 100, (sum(outcomes), len(outcomes))
