"""A sample of drawn calls: of what torch computes check knows nothing else, and has no findings."""

from __future__ import annotations

from drawn_calls import TEXTS, drawn
from drawn_kernels import CALLS
from drawn_kernels import drawn as drawn_kernels


def test_what_check_knows_of_calls_is_what_torch_gives() -> None:
    found = [each for seed in range(120) for each in drawn(seed)]
    assert sum(each.ran for each in found) > 120 * TEXTS // 3  # torch refuses many, and most are computed
    assert not [f"{each.wrong}\n{each.text}" for each in found if each.wrong]


def test_what_check_knows_of_calls_that_ask_much_of_sizes_is_what_torch_gives() -> None:
    found = [each for seed in range(250) for each in drawn_kernels(seed)]
    assert sum(each.ran for each in found) > 250 * CALLS * 3 // 5
    assert not [f"{each.wrong}\n{each.text}" for each in found if each.wrong]


def test_the_same_seed_draws_the_same_texts() -> None:
    assert [each.text for each in drawn(7)] == [each.text for each in drawn(7)]
    assert [*drawn_kernels(7)] == [*drawn_kernels(7)]
