"""Nothing that a text asks for grows without bound: values, sizes, types, findings, suggestions, and the work of all.

Work is counted in steps of the budget or in calls, never in seconds, so that a busy machine fails no test.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from golden_files import sources
from stepcore.check import check_text
from stepcore.check.fixing import fix_text
from stepcore.conversion.to_python import ConvertError
from stepcore.conversion.to_task import python_to_task
from stepcore.findings import budget
from stepcore.findings.budget import Budget, OutOfBudget
from stepcore.findings.diagnostics import LISTED, Diagnostic, listed
from stepcore.findings.near import LONGEST, nearest
from stepcore.fn import allow, outside
from stepcore.fn.amounts import Amounts
from stepcore.fn.check import check_block
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.prelude import assigned_names
from stepcore.fn.walk import calls as called
from stepcore.frontend.python import read_module
from stepcore.ide import features
from stepcore.ide.analysis import analyze
from stepcore.reports.json import render_json
from stepcore.reports.sarif import render_sarif
from stepcore.reports.text import FileReport, Paint, render_text
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.span import Embedded, Span
from test_ide_robust import try_places, try_whole

ROOT = Path(__file__).parents[1]
HEAD = """\
import torch
from typing import Annotated
import stepcore as step
from stepcore.dims import M, N, K, D


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] + 1.0]


def both(x):
    return step.Zip().apply((x, x))


"""


def program(body: str, name: str = "program") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    ports = ", ".join(f"{port}: Annotated[step.Stream, step.f32, (M, N)]" for port in ("E0", "E1"))
    return f"@step.program\ndef {name}({ports}):\n{lines}\n\n"


def function(body: str, name: str = "g") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return f"@step.fn(input=step.f32, output=step.f32)\ndef {name}(input):\n{lines}\n\n"


def doubled(start: str, step: str, end: str, times: int = 40) -> str:
    return f"{start}\n" + f"{step}\n" * times + end


# What would grow beyond all memory, with the codes that may be given (STEP1xx of what was read before the end aside).
EXPLODING = {
    "list by stars": (doubled("a = [E0]", "a = [*a, *a]", "return a[0]"), "STEP221"),
    "tuple by stars": (doubled("a = (E0,)", "a = (*a, *a)", "return a[0]"), "STEP221"),
    "list by plus": (doubled("a = [E0]", "a = a + a", "return a[0]"), "STEP221"),
    "list by +=": (doubled("a = [E0]", "a += a", "return a[0]"), "STEP221"),
    "list by extend": (doubled("a = [E0]", "a.extend(a)", "return a[0]"), "STEP221"),
    "list by repetition": ("a = [E0] * 4096 * 4096 * 4096\nreturn a[0]", "STEP221"),
    "list by comprehension": ("a = [0 for i in range(4096) for k in range(4096)]\nreturn E0", "STEP221"),
    "kept lists": ("a = []\nwhile True:\n    a.append([0] * 4096)\nreturn E0", "STEP221"),
    "kept slices": ("a = [0] * 4096\nb = []\nwhile True:\n    b.append(a[:])\nreturn E0", "STEP221"),
    "text": (doubled('a = "xxxxxxxx"', 'a = f"{a}{a}"', "return E0"), "STEP221"),
    "powers": (doubled("a = 2", "a = a ** a", "return E0"), "STEP221"),
    "squares": (doubled("a = 3", "a = a * a", "return E0"), "STEP221"),
    "sums": ("a = 2 ** 4000\nfor i in range(4000):\n    a = sum([a, a, a, a])\nreturn E0", "STEP221"),
    "shared lists that are consumed": (doubled("a = [E0]", "a = [a, a]", "return step.Zip().apply(a)"), "STEP221"),
    "shared lists without a leaf": (doubled("a = []", "a = [a, a]", "return step.Zip().apply((a, E0))"), "STEP221"),
    "equal lists": (doubled("a = [0]\nb = [0]", "a = [a, a]\nb = [b, b]", "return E0 if a in [b] else E1"), "STEP221"),
    "equal dictionaries": (
        doubled("a = {0: 0}\nb = {0: 0}", "a = {0: a, 1: a}\nb = {0: b, 1: b}", "c = a if E0 in E1 else b\nreturn E0"),
        "STEP221",
    ),
    "lists in lists": ("a = []\nfor i in range(4000):\n    a = [a]\nreturn step.Zip().apply((a, E0))", "STEP221"),
    "a list in itself": ("a = [E0]\na.append(a)\nreturn step.Zip().apply(a)", "STEP221"),
    "terms of a size": (doubled("a = M", "a = a * a + a", "return step.Repeat(n=a).apply(E0)"), "STEP224"),
    "degree of a size": (doubled("a = M", "a = a * a", "return E0[a]"), "STEP224"),
    "factor of a size": (
        "a = M\nfor i in range(400):\n    a = a * 1000003\nreturn step.Repeat(n=a).apply(E0)",
        "STEP224",
    ),
    "symbols of a size": ('a = M\nfor i in range(1100):\n    a = a + step.Symbol(f"s{i}")\nreturn E0', "STEP221"),
    "name of a size": ('return step.Repeat(n=step.Symbol(f"{2 ** 300}")).apply(E0)', "STEP222"),
    "tuple type": (
        "a = E0\nfor i in range(40):\n    b, c = step.Copy().apply(a)\n    a = step.Zip().apply((b, c))\nreturn a",
        "STEP221",
    ),
    "nested tuple type": (
        doubled("t = step.STuple((step.f32,))", "t = step.STuple((t, t))", "return E0[t]"),
        "STEP222",
    ),
    "rank": ("a = E0\nfor i in range(4000):\n    a = step.Repeat(n=M).apply(a)\nreturn a", "STEP221"),
    "helpers": (
        "def h0(x):\n    return x\n"
        + "".join(f"def h{i + 1}(x):\n    return [h{i}(x), h{i}(x)]\n" for i in range(38))
        + "return h38(E0)",
        "STEP221",
    ),
    "recursion": ("def h(x):\n    return [h(x), h(x)]\nreturn h(E0)", "STEP221"),
    "loops": (
        "".join("    " * i + f"for i{i} in range(4096):\n" for i in range(12)) + "    " * 12 + "x = 1",
        "STEP221",
    ),
    "returns": ("for i in range(4000):\n    if E0:\n        return E1\nreturn E0", "STEP221"),
    "conditions inside each other": (
        "if E0:\n    x = E0\n" + "elif E0:\n    x = E1\n" * 300 + "else:\n    x = E0\nreturn x",
        "STEP221",
    ),
}
EXPLODING_FUNCTIONS = {
    "lists": (doubled("a = [1]\nb = [1]", "a = [a, a]\nb = [b, b]", "c = a if M else b\nreturn [input[0]]"), "STEP912"),
    "text read as an integer": ('return [input[0] * int("1" * 900000, 16)]', "STEP311"),
    "text that is an integer": (f'return [input[0] * int("{"1" * 5000}", 16)]', "STEP311"),
}  # fmt: skip


def codes(text: str) -> set[str]:
    return {item.code for item in check_text(text, "file.py").diagnostics}


@pytest.mark.parametrize(("body", "code"), EXPLODING.values(), ids=EXPLODING)
def test_what_would_grow_without_bound_is_refused(body: str, code: str) -> None:
    own = Budget.for_text(len(body))
    given = own.left
    with budget.using(own):
        result = check_text(HEAD + program(body), "file.py")
    assert code in {item.code for item in result.diagnostics}
    assert max(len(item.message) for item in result.diagnostics) < 5000
    assert given - own.left <= given + 100_000  # one evaluation at most goes beyond the budget


@pytest.mark.parametrize(("body", "code"), EXPLODING_FUNCTIONS.values(), ids=EXPLODING_FUNCTIONS)
def test_so_it_is_in_functions(body: str, code: str) -> None:
    assert code in codes(HEAD + function(body) + program("return step.Map(fn=g).apply(E0), E1"))


def test_lists_in_functions_are_followed_to_a_bound() -> None:
    body = doubled("a = [input[0]]", "a = a + a", "return [a[0]]")
    assert codes(HEAD + function(body) + program("return step.Map(fn=g).apply(E0), E1")) == {"STEP311"}


def test_values_within_the_bounds_are_as_before() -> None:
    body = "a = [i for i in range(4096)]\nb = {0: [1, (2, M)]}\nassert_ = ([1, [2]] in [[1, [2]]]) == True\n"
    body += "xs = []\nfor i in range(1000):\n    xs.append(i)\n"
    body += "return (E0 if len(a) == 4096 and len(xs) == 1000 and b[0] in [[1, (2, M)]] else [])"
    assert codes(HEAD + program(body)) == {"STEP103"}  # E1 is not used


# -- the budget --------------------------------------------------------------------------------------------------------


def test_a_document_ends_where_its_budget_does_and_keeps_what_was_found() -> None:
    misspelt = program("return step.Mapp(fn=f).apply(E0), E1", "first")
    rounds = "for i in range(60):\n    for k in range(60):\n        x = [i, k] * 8\nreturn E0, E1"
    text = (
        HEAD + misspelt + "".join(program(rounds, f"p{i}") for i in range(20)) + program("return both(E0), E1", "last")
    )
    found = check_text(text, "file.py").diagnostics
    assert [item.code for item in found] == ["STEP201", "STEP912"]
    assert text[found[1].span.start : found[1].span.end].startswith("i in range(60)")
    assert [item.code for item in analyze(text, "file.py").diagnostics] == ["STEP201", "STEP912"]


def test_the_budget_ends_at_the_same_place_after_an_edit() -> None:
    rounds = "for i in range(60):\n    for k in range(60):\n        x = [i, k] * 8\nreturn E0, E1"
    text = HEAD + "".join(program(rounds, f"p{i}") for i in range(20))
    first = analyze(text, "file.py")
    edited = text + "# the end\n"
    again, fresh = analyze(edited, "file.py", previous=first), analyze(edited, "file.py")
    assert [item.code for item in again.diagnostics] == ["STEP912"]
    assert again.diagnostics == fresh.diagnostics


def test_trials_of_fixes_have_a_budget_of_their_own() -> None:
    rounds = "for i in range(60):\n    for k in range(30):\n        x = [i, k] * 8\n"
    text = HEAD + "".join(program(rounds + "return both(E0), E1", f"p{i}") for i in range(8))
    found = check_text(text, "file.py").diagnostics
    assert {item.code for item in found} == {"STEP101"}


def test_fixing_ends_with_its_budget() -> None:
    rounds = "for i in range(60):\n    for k in range(60):\n        x = [i, k] * 8\n"
    text = HEAD + "".join(program(rounds + "return step.Zip().apply((E0, E0)), E1", f"p{i}") for i in range(60))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(budget, "STEPS", 1000)
        patch.setattr(budget, "STEPS_PER_CHARACTER", 1)
        assert fix_text(text, "file.py") == text


def test_finding_of_the_budget_is_given_once() -> None:
    own = Budget(0)
    with pytest.raises(OutOfBudget) as caught:
        own.spend(1)
    assert len(own.report(caught.value, Span(0, 0))) == 1
    assert own.report(caught.value, Span(0, 0)) == []


def honest() -> Iterator[Path]:
    yield from sorted((ROOT / "examples").glob("*.py"))
    yield from sorted((ROOT / "benchmarks" / "tasks").glob("*.yaml"))
    yield from (path for path in sources() if "STEP912" not in path.name and "STEP221" not in path.name)


def test_honest_texts_stay_far_below_the_budget() -> None:
    for path in honest():
        text = path.read_text(encoding="utf-8")
        own = Budget.for_text(len(text))
        with budget.using(own):
            check_text(text, path.name)
        used = Budget.for_text(len(text)).left - own.left
        assert used < len(text) + 2000, path.name  # a sixteenth of what a long text would have


# -- growth ------------------------------------------------------------------------------------------------------------


def calls(text: str, path: str = "file.py") -> int:
    """How many functions checking a text calls."""
    count = 0

    def on(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on)
    try:
        # Without suggestions: until they are spent, each unknown name is compared with all.
        with budget.using(Budget(10**9, looks=0)):
            check_text(text, path)
    finally:
        sys.setprofile(None)
    return count


def many(count: int, line: str) -> str:
    return "".join(line.format(i=i) for i in range(count))


TASK = (ROOT / "benchmarks" / "tasks" / "bmm_inner_product.step.yaml").read_text(encoding="utf-8")
GROWING: dict[str, Callable[[int], str]] = {
    "unknown names": lambda n: HEAD + program(many(n, "name_{i:04d} = unknwn_{i:04d}\n") + "return E0"),
    "unknown operators": lambda n: HEAD + program(many(n, "a{i} = step.Mapp{i}(fn=f).apply(E0)\n") + "return E0"),
    "unknown parameters": lambda n: HEAD + program(many(n, "a{i} = step.Map(fnn{i}=f).apply(E0)\n") + "return E0"),
    "unknown parameters of one call": lambda n: (
        HEAD + program("x = step.Zip(" + many(n, "a{i}=1, ") + ").apply((E0, E1))\nreturn x")
    ),
    "unknown names of functions": lambda n: HEAD + function(many(n, "a{i} = unknwn_{i:04d}\n") + "return [input[0]]"),
    "unknown methods": lambda n: HEAD + function(many(n, "a{i} = input[0].unknwn{i}()\n") + "return [input[0]]"),
    "functions": lambda n: HEAD + "".join(function(f"return [input[0] + unknwn{i}]", f"g{i}") for i in range(n)),
    "programs": lambda n: HEAD + "".join(program("return E0, E1", f"p{i}") for i in range(n)),
    "programs of one name": lambda n: HEAD + "".join(program("return E0, E1") for i in range(n)),
    "consumers": lambda n: HEAD + program(many(n, "a{i} = step.Map(fn=f).apply(E0)\n") + "return E1"),
    "fixes": lambda n: HEAD + "".join(program("return step.Zip().apply((E0, E0)), E1", f"p{i}") for i in range(n)),
    "aliases": lambda n: HEAD + "a0 = step\n" + many(n, "a{i}1 = a{i}\n") + program("return E0, E1"),
    "a long line": lambda n: HEAD + program("x = [" + "E0, " * n + "]\nreturn E0"),
    "comments that suppress": lambda n: HEAD + many(n, "x{i} = 1  # stepsmith: ignore[STEP201]\n"),
    "broken lines": lambda n: HEAD + many(n, "x{i} = (\n"),
    "keys": lambda n: TASK + many(n, "unknwn{i}: 1\n"),
    "anchors": lambda n: many(n, "a{i}: &x{i} v\nb{i}: *x{i}\n") + TASK,
    "lambdas": lambda n: HEAD + function(many(n, "a{i} = lambda x{i}: x{i}\n") + "return [input[0]]"),
}


@pytest.mark.parametrize("text", GROWING.values(), ids=GROWING)
def test_work_grows_with_the_text(text: Callable[[int], str]) -> None:
    path = "file.step.yaml" if "inputs:" in text(1) else "file.py"
    calls(text(20), path)  # what is imported or remembered once
    few, more = calls(text(60), path), calls(text(240), path)
    assert more < 6.5 * few  # four times the text


def test_suggestions_are_made_until_enough_names_were_compared() -> None:
    names = "".join(f"name_{i:04d} = E1\n" for i in range(1000))
    body = names + "".join(f"a{i} = nam_{i:04d}\n" for i in range(200)) + "return E0, E1"
    found = [item for item in check_text(HEAD + program(body), "file.py").diagnostics if item.code == "STEP202"]
    assert len(found) == 200
    suggested = [item.fix is not None for item in found]
    assert suggested[0] and not suggested[-1]
    assert suggested == sorted(suggested, reverse=True)


def test_names_of_functions_are_not_looked_through_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    passed = 0

    def counting(names: Iterable[str]) -> Iterator[str]:
        nonlocal passed
        for name in names:
            passed += 1
            yield name

    monkeypatch.setattr(allow, "nearest", lambda word, known, **how: nearest(word, counting(known), **how))
    text = HEAD + function(many(3000, "a{i} = unknown_{i:04d}\n") + "return [input[0]]")
    found = [item for item in check_text(text, "file.py").diagnostics if item.code == "STEP303"]
    assert len(found) == 3000
    assert passed < 70 * budget.LOOKS  # each with each would be 9,000,000, and grow with the square


def test_what_a_body_reads_from_outside_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = []

    def counted(body: list[ast.stmt]) -> frozenset[str]:
        found.append(body)
        return assigned_names(body)

    monkeypatch.setattr(outside, "assigned_names", counted)
    body = CodeBlock(Embedded.whole("own = W * input\nreturn own + input_data['V'] + bound\n"), ("input", "bound"))
    for names in (["W", "V"], ["V"], ["own", "bound", "input", "W"], []):
        read = [name for name in names if name in ("W", "V")]
        assert outside.names_read(body, names) == read
    assert len(found) == 1


def test_a_task_holds_no_more_values_than_can_be_read_at_once() -> None:
    for more in ("q: [" + "1," * 150_000 + "]\n", "".join(f"q{i}: [{'1,' * 5000}]\n" for i in range(30))):
        found = check_text(more + TASK, "file.step.yaml").diagnostics
        assert [item.code for item in found] == ["STEP903"]
        assert "more than 100,000 values" in found[0].message
        assert 0 < found[0].span.start < len(more)


def test_lists_of_names_in_a_message_are_short() -> None:
    ports = "".join(f"- {{name: S{i}, dtype: fp32, dims: [M], data_transform: ['1']}}\n" for i in range(2000))
    text = TASK.replace("outputs:\n", f"outputs:\n{ports}")
    found = [item for item in check_text(text, "file.step.yaml").diagnostics if item.code == "STEP213"]
    assert found
    assert len(found[0].message) < 400


def test_long_names_are_not_compared() -> None:
    assert nearest("x" * LONGEST + "y", ["x" * LONGEST]) == []
    assert nearest("x" * LONGEST, ["x" * LONGEST + "y"]) == []
    assert nearest("abcde", ["a" * 50, "xyz", "abcdf"]) == ["abcdf"]


# -- editors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["list by stars", "tuple type"])
def test_editor_features_live_with_what_was_not_looked_at(name: str) -> None:
    text = HEAD + program(EXPLODING[name][0]) + program("return E0, E1", "other")
    analysis = analyze(text, "file.py")
    assert analysis.diagnostics
    try_whole(analysis)
    features.graph(analysis, "program")
    try_places(analysis, len(text) // 4)
    features.completions(analysis, len(text) // 2)
    features.signature(analysis, len(text) // 2)


def test_sizes_have_bounds_where_nothing_counts() -> None:
    size = Dim.symbol("M")
    with pytest.raises(DimError, match="more than 64 sizes"):
        for _ in range(10):
            size = size * size
    size = Dim.symbol("M") + 1
    with pytest.raises(DimError, match="more than 1000 terms"):
        for index in range(2000):
            size = size + Dim.symbol(f"s{index}")
    with pytest.raises(DimError, match="factor"):
        Dim.symbol("M") * 2**600 * 2**600


# -- what blocks make ------------------------------------------------------------------------------------------------

TOO_LARGE = {
    "stars": doubled("a = [1]", "a = [*a, *a]", ""),
    "plus": doubled("a = [1]", "a = a + a", ""),
    "plus in place": doubled("a = [1]", "a += a", ""),
    "times in place": doubled("a = (1, 2)", "a *= 2", ""),
    "extend": doubled("a = [1]", "a.extend(a)", ""),
    "texts": doubled("a = 'ab'", "a = f'{a}{a}'", ""),
    "numbers": doubled("a = 9", "a = a * a", ""),
    "a width": "a = '%10000000000d' % 1",
    "a width among the values": "a = '%*d' % (10 ** 9, 1)",
    "in an arm": "if M_value > 3:\n" + doubled("  a = [1]", "  a = [*a, *a]", ""),
    "in a helper": "def f(x):\n" + doubled("  a = [1]", "  a = [*a, *a]", "  return a"),
    "in a loop": "a = [1]\nfor i in range(40):\n  a = a + a",
    "in a loop in a loop": "a = 2\nfor i in range(9):\n  for k in range(9):\n    a *= a",
    "in a comprehension": "a = [0 for i in range(9999) for k in range(9999) if 0]",
    "lists in lists": "a = [[0] * 10 ** 5] * 10 ** 5\nb = torch.tensor(a)",
    "by a list of ranges": "a = [*range(999_999), *range(999_999)]",
}
MAY_FIT = {
    "a list that is made anew": "a = [1]\nfor i in range(64):\n  a = [*a[:1], *a[:1]]",
    "a loop that ends": "a = [1]\nfor i in range(64):\n  if len(a) > 100:\n    break\n  a = a + a",
    "either arm": "a = [0] * 999_999\nif M_value > 3:\n  a = [1]\nelse:\n  a = a * 1\nb = a + a",
    "an argument of a helper": "a = [0] * 999_999\ndef f(a):\n  return a + a",
    "a number that falls": "a = 2 ** 4000\na = a // 2 ** 3999\na = a * a * a",
    "rows of a table": "a = [[i * k for k in range(30)] for i in range(30)]\nb = torch.tensor(a)",
}


@pytest.mark.parametrize("text", TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_a_block_certainly_makes_too_large_is_found_without_a_run(text: str) -> None:
    """Converted to Python, ``global`` runs without the simulator's bounds."""
    prelude = CodeBlock(Embedded.whole(text))
    assert [item.code for item in check_block(prelude, FnScope(prelude=prelude), "prelude")] == ["STEP311"]


def _nested(depth: int) -> str:
    heads = "".join(f"{' ' * (4 + place)}for i{place} in range(2):\n" for place in range(depth))
    body = f"{heads}{' ' * (4 + depth)}a = [1]\n    return [input[0]]\n"
    return f"import stepcore as step\n\n\n@step.fn(input=step.f32, output=step.f32)\ndef f(input):\n{body}"


def test_loops_in_loops_are_followed_for_a_while_and_count_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[ast.stmt] = []
    run = Amounts.run

    def counted(own: Amounts, statement: ast.stmt) -> None:
        looked_at.append(statement)
        run(own, statement)

    monkeypatch.setattr(Amounts, "run", counted)
    assert not check_text(_nested(12), "nested.py").diagnostics
    assert looked_at
    assert [item.code for item in check_text(_nested(40), "nested.py").diagnostics] == ["STEP912"]
    assert len(looked_at) < 100_000


def test_what_makes_lists_longer_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = 0
    asked = called._may_change_length

    def counted(node: ast.AST) -> bool:
        nonlocal looked_at
        looked_at += 1
        return asked(node)

    monkeypatch.setattr(called, "_may_change_length", counted)
    rounds = "".join(f"  b{place} = a[0]\n" for place in range(300))
    prelude = CodeBlock(Embedded.whole(f"a = []\nfor i in range(3):\n{rounds}  a.append(1)\n"))
    assert not check_block(prelude, FnScope(prelude=prelude), "prelude")
    assert 0 < looked_at < 20 * 300


@pytest.mark.parametrize("text", MAY_FIT.values(), ids=MAY_FIT)
def test_what_may_fit_is_left_to_the_run(text: str) -> None:
    prelude = CodeBlock(Embedded.whole(text))
    assert not check_block(prelude, FnScope(prelude=prelude), "prelude")


# -- how much is shown -----------------------------------------------------------------------------------------------


def test_one_document_shows_the_first_of_each_code_and_how_many_are_left() -> None:
    found = [Diagnostic(f"STEP20{i % 2}", Span(i, i + 1), "wrong") for i in range(2 * LISTED + 10)]
    shown = listed(found)
    assert [item for item in shown if item.message == "wrong"] == found[: 2 * LISTED]
    assert [(item.code, item.span, item.message[:23]) for item in shown[2 * LISTED :]] == [
        ("STEP200", Span(2 * LISTED, 2 * LISTED + 1), "and 5 more of STEP200 fr"[:23]),
        ("STEP201", Span(2 * LISTED + 1, 2 * LISTED + 2), "and 5 more of STEP201 fr"[:23]),
    ]
    few = found[: 2 * LISTED + 2]  # one that is left out would need as much room as the line about it
    assert listed(few) == few


def test_reports_for_machines_show_so_many_and_fixes_are_applied_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepcore.findings.diagnostics.LISTED", 3)
    text = HEAD + "".join(program("return step.Map(fn=f).apply(E0), E0, E1", f"p{i}") for i in range(6))
    result = check_text(text, "file.py")
    assert [item.code for item in result.diagnostics] == ["STEP101"] * 6  # what commands and the gate judge by is whole
    reports = [FileReport(result.source, result.diagnostics)]
    found = json.loads(render_json(reports))["files"][0]["diagnostics"]
    assert [item["message"].startswith("and 3 more of STEP101") for item in found] == [False] * 3 + [True]
    assert len(json.loads(render_sarif(reports))["runs"][0]["results"]) == 4
    assert "and 3 more" not in render_text(reports, Paint(False))  # its own option says how many it shows
    assert not check_text(fix_text(text, "file.py"), "file.py").diagnostics


def test_what_converts_checks_within_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def compared(_word: str, names: list[str], *_rest: object) -> list[str]:
        asked.append(len(names))
        return []

    monkeypatch.setattr("difflib.get_close_matches", compared)
    lines = "".join(f"E{i + 2} = step.Map(fn=fn_{i}).apply(Ex_{i})\n" for i in range(400))
    typed = program(f"{lines}return E0").replace("]):", "]) -> Annotated[step.Stream, step.f32, (M, N)]:")
    module = read_module(HEAD + typed, "file.py")
    with pytest.raises(ConvertError, match="STEP202"):
        python_to_task(module, module.programs[0])
    assert 0 < sum(asked) <= budget.LOOKS
    monkeypatch.setattr(budget, "STEPS", -1_000_000)
    with pytest.raises(ConvertError, match="STEP912"):
        python_to_task(module, module.programs[0])


# -- indices that are sizes ------------------------------------------------------------------------------------------

OUTSIDE = {
    "a size": "L = [1, 2, 3]\nx = L[M_value]",
    "a size less a number": "L = [1, 2, 3]\nx = L[M_value - 2]",
    "from the end": "L = (1, 2, 3)\nx = L[-M_value]",
    "a list of a list": "L = [[1], [2]] * 2\nx = L[M_value - 1]",
    "a list that a comprehension makes": "L = [0 for i in range(M_value)]\nx = L[N_value]",
    "a name of a size": "k = M_value * 2\nx = [1, 2][k]",
    "in a helper": "L = [1]\ndef f(x):\n  return x * L[M_value]",
}
INSIDE = {
    "as many": "L = [1, 2, 3]\nx = L[M_value - 3]",
    "an arm": "L = [1, 2, 3]\nif M_value < 3:\n  x = L[M_value]",
    "either": "L = [1, 2, 3]\nx = L[M_value] if M_value < 3 else 0",
    "a list that grows": "L = []\nfor i in range(9):\n  L.append(i)\nx = L[M_value]",
    "another name that grows": "L = [1]\nK = L\nK.append(1)\nx = L[1]",
    "an argument": "L = [1]\ndef f(L):\n  return L[M_value]",
    "a loop's own": "L = [1, 2]\nfor i in range(2):\n  x = L[i]",
    "a slice": "L = [1]\nx = L[M_value:]",
}


@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE)
def test_an_index_that_is_out_of_range_at_the_bound_sizes_is_found(text: str) -> None:
    prelude = CodeBlock(Embedded.whole(text))
    assert [item.code for item in check_block(prelude, FnScope(prelude=prelude), "prelude")] == ["STEP308"]


@pytest.mark.parametrize("text", INSIDE.values(), ids=INSIDE)
def test_an_index_that_may_be_right_is_left_to_the_run(text: str) -> None:
    prelude = CodeBlock(Embedded.whole(text))
    assert not check_block(prelude, FnScope(prelude=prelude), "prelude")


def test_the_message_names_the_size() -> None:
    prelude = CodeBlock(Embedded.whole("L = [1, 2]\nx = L[M_value]"))
    (found,) = check_block(prelude, FnScope(prelude=prelude), "prelude")
    assert found.message == "index 5 is out of range where M_value = 5: there are 2 items"
