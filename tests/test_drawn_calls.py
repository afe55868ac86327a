"""A sample of drawn calls: of what torch computes check knows nothing else, and has no findings."""

from __future__ import annotations

from drawn_calls import TEXTS, drawn


def test_what_check_knows_of_calls_is_what_torch_gives() -> None:
    found = [each for seed in range(120) for each in drawn(seed)]
    assert sum(each.ran for each in found) > 120 * TEXTS // 3  # torch refuses many, and most are computed
    assert not [f"{each.wrong}\n{each.text}" for each in found if each.wrong]


def test_the_same_seed_draws_the_same_texts() -> None:
    assert [each.text for each in drawn(7)] == [each.text for each in drawn(7)]
