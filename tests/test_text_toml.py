"""Where the keys of TOML stand: what a text costs grows with its length, however it is made."""

from __future__ import annotations

import sys

import pytest

from stepcore.text.toml import NoToml, parse_toml, toml_keys


def steps_of_refusal(text: str) -> int:
    """Return how many calls and steps of generators it takes to refuse a text in which a key is given twice."""
    count = 0

    def step(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(step)
    try:
        with pytest.raises(NoToml, match="given twice"):
            parse_toml(text)
    finally:
        sys.setprofile(None)
    return count


def lists_of_tables(count: int) -> str:
    return "".join(f"[[list{number}]]\n" for number in range(count)) + "key = 1\nkey = 2\n"


def test_a_key_given_twice_beside_many_lists_of_tables_is_told_in_steps_that_grow_with_the_text() -> None:
    assert steps_of_refusal(lists_of_tables(400)) < 3 * steps_of_refusal(lists_of_tables(200))


@pytest.mark.parametrize("depth", [100, 3000])
def test_inline_tables_are_followed_to_a_depth_and_what_comes_behind_them_is_found(depth: int) -> None:
    keys = toml_keys(f"whole = {'{part = ' * depth}1{'}' * depth}\nnext = 2\n")
    nested = [key.path for key in keys[:-1]]
    assert nested == [("whole", *["part"] * inner) for inner in range(min(depth + 1, 128))]
    assert keys[-1] == (("next",), 2, False)


def test_a_long_key_below_a_long_header_is_found() -> None:
    header, key = ".".join(["table"] * 64), ".".join(["key"] * 64)
    (_, found) = toml_keys(f"[{header}]\n{key} = 1\n")
    assert found.path == (*["table"] * 64, *["key"] * 64)


@pytest.mark.parametrize("number", ["9" * 5000, "+" + "1_0" * 3000])
def test_a_number_of_thousands_of_digits_is_told_with_its_line(number: str) -> None:
    """Comments and texts may hold as many."""
    text = f"# {number}\nname = '{number}'\nkey = 1\n\n[table]\nkey = {number} # {number}\n"
    with pytest.raises(NoToml, match=r"^this number has thousands of digits$") as caught:
        parse_toml(text)
    assert caught.value.line == 6
