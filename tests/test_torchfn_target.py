"""Finding the function that a user means, in the text of a file alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepagents.torchfn.refusals import Refused
from stepagents.torchfn.target import find_target, split_argument

PLAIN = Path(__file__).parent / "torch_functions" / "plain.py"
TEXT = PLAIN.read_text(encoding="utf-8")


def line_of(words: str) -> int:
    return next(number for number, line in enumerate(TEXT.splitlines(), start=1) if words in line)


def refusal(text: str, selector: str) -> tuple[str, int, str]:
    with pytest.raises(Refused) as caught:
        find_target("f.py", text, selector)
    found = caught.value.findings[0]
    return found.code, found.line, found.text


@pytest.mark.parametrize(
    ("selector", "qualifier", "kind", "arguments"),
    [
        ("affine", "affine", "function", ["x", "w"]),
        ("square", "square", "function", ["x"]),
        ("Gate", "Gate", "module", ["x"]),
        ("Gate.forward", "Gate", "module", ["x"]),
        ("Gate.raised", "Gate.raised", "method", ["x"]),
        ("Gate.doubled", "Gate.doubled", "method", ["x"]),
        (str(line_of("F.silu")), "halves", "function", ["x"]),
        (str(line_of("square =")), "square", "function", ["x"]),
        (str(line_of("self.drop(self.norm")), "Gate", "module", ["x"]),
        (str(line_of("self.norm = nn")), "Gate", "module", ["x"]),
        (f"{line_of('def halves')}-{line_of('F.silu')}", "halves", "function", ["x"]),
        (f"{line_of('def scaled') - 1}-{line_of('x * factor') + 1}", "scaled", "function", ["x", "factor", "shift"]),
    ],
)
def test_a_name_a_line_and_a_selection_name_a_function(
    selector: str, qualifier: str, kind: str, arguments: list[str]
) -> None:
    found = find_target(str(PLAIN), TEXT, selector)
    assert (found.qualifier, found.kind) == (qualifier, kind)
    assert [argument.name for argument in found.arguments] == arguments


def test_a_later_definition_counts_and_conditions_are_entered() -> None:
    text = "if fast:\n    def f(x): return x\nelse:\n    def f(y): return y\n"
    assert [argument.name for argument in find_target("f.py", text, "f").arguments] == ["y"]


def test_a_function_inside_a_function_belongs_to_the_outer_one() -> None:
    text = "def outer(x):\n    def inner(y):\n        return y\n    return inner(x)\n"
    assert find_target("f.py", text, "3").qualifier == "outer"


@pytest.mark.parametrize(
    ("text", "selector", "code", "line", "words"),
    [
        ("def f(x:\n", "f", "STEP902", 1, "does not parse"),
        ("def f(x): return x\n", "g", "STEP601", 1, "the file defines f"),
        ("x = 1\n", "f", "STEP601", 1, "the file defines no function"),
        ("def f(x): return x\n", "", "STEP601", 1, "missing after ::"),
        ("x = 1\ndef f(x): return x\n", "1", "STEP601", 1, "no function"),
        ("def f(x): return x\n", "0", "STEP601", 1, "no lines"),
        ("def f(x): return x\n", "9-2", "STEP601", 1, "no lines"),
        ("def f(x): return x\ndef g(x): return x\n", "1-2", "STEP601", 1, "several functions: f, g"),
        ("class A:\n    def g(self, x): return x\n", "A", "STEP601", 1, "no method forward"),
        ("async def f(x): return x\n", "f", "STEP601", 1, "coroutine"),
        ("def f(x):\n    yield x\n", "f", "STEP601", 1, "generator"),
    ],
)
def test_what_is_no_function_has_a_place_and_a_way_out(
    text: str, selector: str, code: str, line: int, words: str
) -> None:
    found = refusal(text, selector)
    assert found[:2] == (code, line)
    assert words in found[2]


def test_a_generator_inside_is_no_generator() -> None:
    text = "def f(x):\n    def g():\n        yield 1\n    return x * sum(g())\n"
    assert find_target("f.py", text, "f").qualifier == "f"


def test_arguments_of_the_command_line() -> None:
    assert split_argument("a/b.py::f") == ("a/b.py", "f")
    assert split_argument("a/b.py::") == ("a/b.py", "")
    assert split_argument("task.step.yaml") is None
    assert split_argument("a.yaml::f") is None
