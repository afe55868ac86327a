"""Values that hold the same part many times: Python, which looks at each, takes no more than was counted.

Python itself compares the small ones; that the large ones are refused is what keeps a converted program from hanging.
"""

from __future__ import annotations

from textwrap import indent

import pytest

from cli_inputs import GOOD, TASK
from stepcore.check import check_text
from stepcore.findings.diagnostics import Diagnostic

LARGE = {  # how each level is made, and what is then done with all of it
    "an f-string of a dictionary": ("{0: a, 1: a}", "b = f'{a}'", "STEP224"),
    "an f-string of a list": ("[a, a]", "b = f'{a}'", "STEP224"),
    "an f-string of a tuple": ("(a, a)", "b = f'x{a}'", "STEP224"),
    "an f-string of a part that ** made": ("{0: a, 1: a}", "c = {**a}\nb = f'{c}'", "STEP224"),
    "lists that are equal": ("[a, a]", "b = a == c", "STEP"),
    "tuples that are equal": ("(a, a)", "b = a != c", "STEP"),
    "dictionaries that are equal": ("{0: a, 1: a}", "b = a == c", "STEP"),
    "lists in their order": ("[a, a]", "b = a < c", "STEP"),
    "a chain of comparisons": ("[a, a]", "b = a <= c <= a", "STEP"),
    "in a list": ("[a, a]", "b = a in [c]", "STEP"),
    "not in a tuple": ("(a, a)", "b = a not in (1, c)", "STEP"),
    "in a list beside what nobody knows": ("[a, a]", "d = [1, 0.5 < 1]\nb = a in [c, d, 0.5 < 1]", "STEP"),
    "in a dictionary": ("(a, a)", "b = a in {1: 2}", "STEP"),
    "a key of a dictionary": ("(a, a)", "b = {a: 1}", "STEP224"),
    "an item of a dictionary": ("(a, a)", "b = {1: 1}[a]", "STEP224"),
    "the greater one": ("[a, a]", "b = max(a, c)", "STEP224"),
    "the least of a list": ("(a, a)", "b = min([a, c])", "STEP224"),
    "the sum of lists": ("[a, a]", "b = sum([a, c], [])", "STEP224"),
    "a test": ("[a, a]", "if a == c:\n    b = 1", "STEP"),
    "a test that is not reached": ("[a, a]", "b = 1 if a == c else 2", "STEP"),
    "in a helper": ("[a, a]", "def h(x, y):\n    return x == y\nb = h(a, c)", "STEP"),
    "in a comprehension": ("[a, a]", "b = [1 for i in range(2) if a == c]", "STEP"),
    "in a loop": ("[a, a]", "for i in range(2):\n    b = a == c", "STEP"),
}


def findings(lines: str) -> list[Diagnostic]:
    text = TASK + "impl: |-\n" + indent(f"{lines}\n{BODY_LINES}\n", "  ")
    return list(check_text(text, "a.step.yaml").diagnostics)


BODY_LINES = "\n".join(line[2:] for line in GOOD.splitlines()[1:])


def levels(made: str, use: str, count: int, start: str = "1") -> str:
    twice = [f"{name} = {start}\nfor i in range({count}):\n    {name} = {made.replace('a', name)}" for name in "ac"]
    return "\n".join([*twice, use])


@pytest.mark.parametrize("case", LARGE)
def test_what_python_would_look_at_for_ever_is_refused(case: str) -> None:
    made, use, code = LARGE[case]
    found = findings(levels(made, use, 60))
    assert found
    assert found[0].code.startswith(code)
    assert ";" in found[0].message  # a way out


@pytest.mark.parametrize("case", [case for case, (_, _, code) in LARGE.items() if code == "STEP"])
def test_the_same_with_few_parts_is_possible(case: str) -> None:
    made, use, _ = LARGE[case]
    text = levels(made, use, 8)
    exec(text, {})
    assert not findings(text)


@pytest.mark.parametrize("use", ["b = a == c", "b = a in [c]"])
def test_values_that_are_nested_deeply_are_no_end_of_the_checker(use: str) -> None:
    (found,) = findings(levels("[a]", use, 2000))
    assert found.code == "STEP221"
    assert "nested too deeply" in found.message
    (found,) = findings("a = []\na.append(a)\nc = []\nc.append(c)\n" + use)
    assert "nested too deeply" in found.message


def test_dictionaries_are_joined() -> None:
    use = "a = {'x': 1}\nb = {**a, 'y': 2}\nfor i in range(b['x'] + b['y']):\n    c = f'{i}{b[\"x\"]}'"
    assert not findings(use)
    assert [item.code for item in findings("b = {**[1]}")] == ["STEP224"]


@pytest.mark.parametrize(
    ("start", "what"),
    [
        ("d = [1] * ([0] == [M])", "[0] == [M]"),
        ("d = [1] * int(M_value == 5)", "int(M_value == 5)"),
        ("d = [1][(M_value == 5):]", "[1][(M_value == 5):]"),
        ("d = [1]\nif [M] < [0]:\n    pass", "[M] < [0]"),
    ],
)
def test_what_has_no_value_in_the_checker_is_no_value_for_python_either(start: str, what: str) -> None:
    # Python knows how long the list is, and would double it for ever.
    (found,) = findings(start + "\nfor i in range(60):\n    d = d + d" if what != "[M] < [0]" else start)
    assert found.code == "STEP224"
    assert found.message.startswith(f"what {what} is cannot be told from the program; ")


@pytest.mark.parametrize("test", ["[0] == [0]", "(1, 2) < (1, 3)", "0.5 < 1", "{1: 'x'} != {1: 'y'}", "None == None"])
def test_values_of_python_are_compared_as_python_does(test: str) -> None:
    assert eval(test)
    assert not findings(f"d = [1][0 if {test} else 5]")
    (found,) = findings(f"d = [1][5 if {test} else 0]")
    assert "5" in found.message
