"""Where the keys of TOML stand: what a text costs grows with its length, however it is made."""

from __future__ import annotations

import sys

import pytest

from stepcore.text.toml import NoToml, parse_toml


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
