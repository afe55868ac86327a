"""The type checker on programs with one change: it finds a mistake, or what it infers is what a run gives."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import OracleError
from programs import count, generate, impl_text, mistyped, task_text, tried
from programs.running import HARMLESS, assert_same_types, assert_same_values, check, errors, run_library, run_oracle
from stepcore.findings.errors import SimError

# What only a run can tell: a branch that does not fit its selector, a size from data that cannot be divided.
ONLY_A_RUN_TELLS = ("STEP409", "STEP211")


def verdict(rng: Random, steps: int) -> str:
    """Change a program and say what became of it; raises where the checker was wrong."""
    program = mistyped(generate(rng, steps), rng)
    text = task_text(program, impl_text(program))
    result, checked = check(text)
    if errors(result.diagnostics, HARMLESS):
        return "found"
    try:
        used = run_oracle(text).used
    except OracleError as error:
        with pytest.raises(SimError) as refused:
            run_library(checked)
        assert refused.value.code in ONLY_A_RUN_TELLS, f"{error}\n{text}"
        return "found by the run"
    assert_same_types(checked, used)
    assert_same_values(run_library(checked), used)
    return "well-typed"


@tried(120)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_a_change_is_found_or_sound(rng: Random, steps: int) -> None:
    verdict(rng, steps)


def test_changes_are_found_or_sound_and_mostly_found() -> None:
    seen = Counter(verdict(Random(seed), 8) for seed in range(count(100)))
    assert seen["found"] > seen["well-typed"] > 0


# A sample of what `make soak` tries for minutes.
@pytest.mark.slow
def test_many_changes_are_found_or_sound() -> None:
    seen = Counter(verdict(Random(seed), 10) for seed in range(5000, 5000 + count(300)))
    assert seen["found"] > seen["well-typed"] > 0
