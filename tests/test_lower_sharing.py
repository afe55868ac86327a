"""Equal element functions are written once, whatever their locals are called."""

from __future__ import annotations

import pytest

from stepagents.lower.functions import Function
from stepagents.lower.sharing import shared
from stepcore.types import Element, Scalar, STuple

PAIR = STuple((Scalar(), Scalar()))
F16 = STuple((Scalar("fp16"), Scalar("fp16")))


def function(body: str, input_: Element = PAIR, init: tuple[str, ...] | None = None) -> Function:
    return Function("f", body, input_, Scalar(), init)


def test_equal_bodies_with_other_names_become_one_with_names_that_suit_all() -> None:
    one = function("x, w = input\nreturn [x * w]")
    other = function("relu, v = input\nreturn [relu * v]")
    written = shared([one, other])
    assert written[one] is written[other]
    assert written[one].body == "first, second = input\nreturn [first * second]"


def test_a_function_that_stands_alone_keeps_its_names() -> None:
    one = function("x, w = input\nreturn [x * w]")
    assert shared([one, one]) == {one: one}


def test_attributes_and_arguments_of_the_same_name_stay() -> None:
    one = function("relu, w = input\nreturn [torch.relu(relu, relu=w)]")
    other = function("x, y = input\nreturn [torch.relu(x, relu=y)]")
    assert shared([one, other])[one].body == "first, second = input\nreturn [torch.relu(first, relu=second)]"


@pytest.mark.parametrize(
    "other",
    [
        function("y, x = input\nreturn [x - y]"),
        function("x, y = input\nreturn [y - x]"),
        function("x, y = input\nreturn [x - y]", F16),
        function("x, y = input\nreturn [x - y]", init=("0",)),
        function("x, y = input\nreturn [x - y - 0]"),
        function("x, y = input\nreturn [x - z]"),
    ],
)
def test_what_computes_something_else_stays_apart(other: Function) -> None:
    one = function("x, y = input\nreturn [x - y]")
    written = shared([one, other])
    assert written[one] is one and written[other] is other


def test_a_name_that_is_taken_is_not_given_again() -> None:
    one = function("x, w = input\nreturn [x * first]")
    other = function("a, b = input\nreturn [a * first]")
    assert shared([one, other])[other] is one
