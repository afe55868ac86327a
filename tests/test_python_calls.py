"""Python's own functions take in bodies what they take in Python, by position and by name, and nothing else."""

from __future__ import annotations

import builtins
import inspect
from typing import Any

import pytest

from stepcore.check import check_text
from stepcore.findings.diagnostics import Severity
from stepcore.fn import allow
from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import constant_bindings
from stepcore.fn.python_calls import SIGNATURES, wrong_call
from stepcore.sim.fnvec.errors import FnRuntimeError
from stepcore.text.span import Embedded
from test_function_semantics import interpreted
from test_module_changes import task
from test_purity import with_body

RIGHT = [
    "round(2.675, ndigits=1)", "round(number=2.675)", "round(2.5, None)", "round(25, -1)", "round(5, -1)",
    "round(7, -2)", "round(-96, -2)", "int('17', base=8)",
    "pow(base=2, exp=3)", "pow(2, exp=3)", "sum([1], start=4)", "max([], default=3)", "max(1, 2, key=abs)",
    "len(str(object=3))", "len(str())", "list(enumerate(iterable=[1], start=2))[0][0]",
    "sorted([1, 2], reverse=True)[0]",
    "len(list(zip([1], [2], strict=True)))", "dict([(1, 2)], a=3)['a']", "divmod(7, 2)[1]", "round(3)",
]  # fmt: skip
WRONG = [
    "int(x='3')", "pow(2, 3, 5)", "pow(2)", "sum(iterable=[1])", "sum(start=1)", "min(3, 2, default=5)", "len(obj=[1])",
    "list(iterable=[1])", "abs(x=-1)", "bool(x=1)", "float(x='3')", "sorted(iterable=[1])", "range(1, 2, 3, 4)",
    "round(1, 2, 3)", "round(1, number=2)", "abs()", "divmod(1)", "zip([1], strict=True, key=2)", "len([1], [2])",
    "reversed([1], [2])", "any([1], [2])", "max()", "enumerate([1], 2, start=3)", "float(1, 2)", "tuple([1], [2])",
]  # fmt: skip


def codes(text: str) -> list[str]:
    return [item.code for item in check_text(text, "a.step.yaml").diagnostics if item.severity is Severity.ERROR]


@pytest.mark.parametrize("call", RIGHT)
def test_a_call_that_python_takes_has_its_value(call: str) -> None:
    assert codes(task(f"c = {call}")) == []
    assert interpreted(f"c = {call}")["c"] == eval(call)


@pytest.mark.parametrize("call", WRONG)
def test_a_call_that_python_does_not_take_is_refused_before_a_run(call: str) -> None:
    is_iterator = call.startswith(("zip", "reversed", "enumerate"))  # which neither function nor reference may use up
    assert codes(task(f"c = {call}")) == ["STEP304", *["STEP310"] * 2 * is_iterator]
    with pytest.raises(FnRuntimeError):
        interpreted(f"c = {call}")
    if call != "pow(2, 3, 5)":  # which is known to Python, and has another spelling here
        with pytest.raises(TypeError):
            eval(call)


@pytest.mark.parametrize("call", ["round(5, -10**9)", "round(number=-7, ndigits=-10**12)", "round(True, -5000)"])
def test_no_power_of_ten_is_made_to_round_a_number_to_nothing(call: str) -> None:
    """Python makes `10 ** 10**9` first, for minutes; checking follows a text of tasks, too, in the editor's server."""
    with pytest.raises(FnRuntimeError) as caught:
        interpreted(f"c = {call}")
    assert caught.value.code == "STEP406"
    assert codes(task(f"c = {call}")) == ([] if "True" in call else ["STEP311"])
    assert constant_bindings(CodeBlock(Embedded.whole(f"ctx[E] = max(3, {call})"))) == {}


def test_a_function_of_the_same_name_is_its_own() -> None:
    assert codes(task("def round(x, y, z):\n    return x\nc = round(1, 2, 3)")) == []


@pytest.mark.parametrize(
    "body", ["return [round(input[0])]", "return [divmod(input[0], 1)[1]]", "x = input[0] * 2\nreturn [round(x, 1)]"]
)
def test_what_python_does_with_numbers_alone_takes_no_tensor(body: str) -> None:
    """Both once gave a value here, and raised an error in the converted file."""
    assert codes(with_body(body)) == ["STEP304"]


@pytest.mark.parametrize("name", ["round", "divmod"])
def test_nor_does_a_run(name: str) -> None:
    with pytest.raises(FnRuntimeError, match="nothing in Python; write"):
        interpreted(f"c = {name}(torch.tensor(2.5), 1)")


def test_all_functions_have_the_signature_that_python_says_they_have() -> None:
    assert SIGNATURES.keys() == allow.BUILTINS
    for name in SIGNATURES:
        try:
            signature = inspect.signature(getattr(builtins, name))
        except (ValueError, TypeError):
            continue  # Python tells nothing about it
        for count in range(4):
            arguments: list[Any] = [None] * count
            try:
                signature.bind(*arguments)
            except TypeError:
                assert wrong_call(name, count, []), (name, count)
            else:
                assert not wrong_call(name, count, []) or (name, count) == ("pow", 3), (name, count)
