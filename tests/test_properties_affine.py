"""The affine checker on random programs: a missing copy is always found, and fixes mend it without changing results."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracle import dense
from programs import (
    ANYTHING,
    GADGETS,
    STRAIGHT,
    UNDECIDED,
    Program,
    copies,
    count,
    generate,
    impl_text,
    module_text,
    reusing,
    task_text,
    tried,
    without,
)
from programs.running import PATH, OracleRun, assert_same_values, check, errors, run_library, run_oracle
from stepcore.check import check_text, fix_text
from stepcore.findings.diagnostics import Diagnostic, apply_edits

PYTHON = "generated.py"
FLAG = "FLAG = torch.cuda.is_available()\n\n\n@step.program"


def affine(found: list[Diagnostic]) -> list[Diagnostic]:
    """The findings of the affine rule."""
    return [item for item in found if item.code in ("STEP101", "STEP102")]


def assert_same_results(text: str, wanted: OracleRun) -> None:
    """A task file returns what another one returned, by the oracle."""
    found = run_oracle(text)
    assert found.returned == wanted.returned
    outputs = [dense(stream) for stream in found.used[-found.returned :]]
    assert_same_values(outputs, wanted.used[-wanted.returned :])


def assert_each_fix_helps(text: str, path: str) -> list[Diagnostic]:
    """Each offered fix, applied alone, removes its finding and breaks nothing; gives the findings without one."""
    result, checked = check(text, path)
    found = affine(result.diagnostics)
    for item in found:
        if item.fix is None:
            continue
        fixed_text = apply_edits(text, list(item.fix.edits))
        after, fixed = check(fixed_text, path)
        assert errors(after.diagnostics, ("STEP101",)) == [], fixed_text
        assert len(affine(after.diagnostics)) < len(found), fixed_text
        assert fixed.affine_count < checked.affine_count
    return [item for item in found if item.fix is None]


@pytest.mark.parametrize("first", range(0, count(60), 20))
def test_a_missing_copy_is_found_and_mended(first: int) -> None:
    for seed in range(first, first + 20):
        program = generate(Random(seed), 8)
        wanted = run_oracle(task_text(program, impl_text(program)))
        for position in copies(program)[:2]:
            changed = without(program, [position])
            text = task_text(changed, impl_text(changed, Random(seed)))
            result, checked = check(text)
            assert [item.code for item in errors(result.diagnostics)] == ["STEP101"], text
            assert checked.affine_count == 1
            fixed = fix_text(text, PATH)
            assert errors(check(fixed)[0].diagnostics) == [], fixed
            assert_same_results(fixed, wanted)


@tried(25)
@given(st.randoms(use_true_random=False), st.integers(2, 8))
def test_all_copies_removed_at_once_are_counted_and_mended(rng: Random, steps: int) -> None:
    program = generate(rng, steps)
    changed = without(program, copies(program))
    text = task_text(changed, impl_text(changed, rng))
    assert check(text)[1].affine_count == len(copies(program))
    fixed = fix_text(text, PATH)
    assert errors(check(fixed)[0].diagnostics) == [], fixed
    assert_same_results(fixed, run_oracle(text))


def assert_fixes_converge(program: Program, body: str) -> None:
    """In both forms: every finding has a fix, each helps alone, and all together leave the results as they were."""
    text = task_text(program, body)
    wanted = run_oracle(text)
    result, checked = check(text)
    assert errors(result.diagnostics, ("STEP101",)) == [], text
    assert_same_values(run_library(checked), wanted.used)
    assert assert_each_fix_helps(text, PATH) == [], text
    fixed = fix_text(text, PATH)
    assert errors(check(fixed)[0].diagnostics) == [], fixed
    assert fix_text(fixed, PATH) == fixed
    assert_same_results(fixed, wanted)
    fixed = fix_text(module_text(program, body), PYTHON)
    result, checked = check(fixed, PYTHON)
    assert errors(result.diagnostics) == [], fixed
    assert_same_values(run_library(checked)[-wanted.returned :], wanted.used[-wanted.returned :])


@pytest.mark.parametrize("first", range(0, count(30), 10))
def test_fixes_of_reused_streams_converge(first: int) -> None:
    for seed in range(first, first + 10):
        program, body = reusing(Random(seed), GADGETS)
        try:
            assert_fixes_converge(program, body)
        except Exception as error:
            error.add_note(f"seed {seed}\n{body}")
            raise


@tried(15)
@given(st.randoms(use_true_random=False), st.integers(1, 3))
def test_fixes_of_small_programs_converge(rng: Random, length: int) -> None:
    assert_fixes_converge(*reusing(rng, GADGETS, length))


# A sample of what `make soak` tries for minutes.
@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1000 + count(40), 20))
def test_fixes_of_many_long_programs_converge(first: int) -> None:
    for seed in range(first, first + 20):
        program, body = reusing(Random(seed), GADGETS, 7)
        try:
            assert_fixes_converge(program, body)
        except Exception as error:
            error.add_note(f"seed {seed}\n{body}")
            raise


def module_with_flag(program: Program, body: str) -> str:
    """A Python file whose body branches on something that only a run decides."""
    return module_text(program, body).replace("@step.program", FLAG, 1)


@tried(30)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_undecided_branches_are_mended_in_place(rng: Random, length: int) -> None:
    program, body = reusing(rng, UNDECIDED, length)
    text = module_with_flag(program, body)
    assert assert_each_fix_helps(text, PYTHON) == [], text
    fixed = fix_text(text, PYTHON)
    assert errors(check(fixed, PYTHON)[0].diagnostics) == [], fixed
    for decision in ("True", "False"):
        wanted = run_oracle(task_text(program, body.replace("FLAG", decision)))
        _, checked = check(fixed.replace("if FLAG:", f"if {decision}:"), PYTHON)
        assert_same_values(run_library(checked)[-wanted.returned :], wanted.used[-wanted.returned :])


@tried(15)
@given(st.randoms(use_true_random=False))
def test_no_offered_fix_changes_a_result(rng: Random) -> None:
    program, body = reusing(rng, ANYTHING)
    fixed = fix_text(module_with_flag(program, body), PYTHON)
    assert all(item.fix is None for item in affine(check(fixed, PYTHON)[0].diagnostics)), fixed
    for decision in ("True", "False"):
        wanted = run_oracle(task_text(program, body.replace("FLAG", decision)))
        _, checked = check(fixed.replace("if FLAG:", f"if {decision}:"), PYTHON)
        assert_same_values(run_library(checked)[-wanted.returned :], wanted.used[-wanted.returned :])


# Where every name is assigned once and holds streams, each name that the paper's rule counts twice stands for a
# stream that is consumed twice. (Rebinding, branches and lists without streams break this: there paper finds more.)
@tried(60)
@given(st.randoms(use_true_random=False), st.booleans())
def test_strict_finds_what_paper_finds_in_straight_programs(rng: Random, reuses: bool) -> None:
    if reuses:
        program, impl = reusing(rng, STRAIGHT, 5)
    else:
        program = generate(rng, 5)
        program = without(program, [position for position in copies(program) if rng.randrange(2)])
        impl = impl_text(program)
    text = task_text(program, impl)
    counts = {rule: check_text(text, PATH, affine=rule).programs[0].affine_count for rule in ("strict", "paper")}
    assert counts["strict"] >= counts["paper"], text
