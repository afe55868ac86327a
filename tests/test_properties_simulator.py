"""Random well-typed programs: the checker accepts them, and the simulator computes what the literal oracle computes."""

from __future__ import annotations

from random import Random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import dense
from programs import IMPOSSIBLE, OPERATORS, Program, count, covered, generate, impl_text, module_text, task_text, tried
from programs.running import (
    assert_same_types,
    assert_same_values,
    check,
    errors,
    run_at_once,
    run_library,
    run_oracle,
    tiny_limits,
)
from stepcore.check import Checked
from stepcore.findings.verdict import Verdict
from stepcore.sim.functional import Session

SEEDS = count(300)
BLOCK = 30
STEPS = 10


def seeded(seed: int) -> tuple[Program, str]:
    """The program of a seed, with its body in one of the many styles."""
    program = generate(Random(seed), STEPS)
    return program, impl_text(program, Random(seed))


def assert_agrees(program: Program, impl: str) -> None:
    """No finding; types are the actual ones; values are the oracle's, also where everything is computed lazily."""
    text = task_text(program, impl)
    used = run_oracle(text).used
    result, checked = check(text)
    assert errors(result.diagnostics) == [], text
    assert checked.affine_count == 0
    assert checked.runnable
    assert_same_types(checked, used)
    assert_same_values(run_library(checked), used)
    with tiny_limits():
        assert_same_values(run_library(checked), used)


@pytest.mark.parametrize("first", range(0, SEEDS, BLOCK))
def test_checker_and_simulator_agree_with_the_oracle(first: int) -> None:
    for seed in range(first, min(first + BLOCK, SEEDS)):
        program, impl = seeded(seed)
        try:
            assert_agrees(program, impl)
        except Exception as error:
            error.add_note(f"seed {seed}\n{task_text(program, impl)}")
            raise


# The same again with programs that hypothesis can make smaller when they fail.
@tried(80)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_small_programs_agree_with_the_oracle(rng: Random, steps: int) -> None:
    program = generate(rng, steps)
    assert_agrees(program, impl_text(program))


@pytest.mark.parametrize("first", range(0, count(60), BLOCK))
def test_the_python_form_means_the_same(first: int) -> None:
    for seed in range(first, first + BLOCK):
        program, impl = seeded(seed)
        used = run_oracle(task_text(program, impl)).used
        text = module_text(program, impl)
        result, checked = check(text, "generated.py")
        assert errors(result.diagnostics) == [], text
        assert_same_types(checked, used)
        assert_same_values(run_library(checked), used)


@pytest.mark.parametrize("first", range(0, count(40), 20))
def test_a_script_computes_the_same_at_once(first: int) -> None:
    for seed in range(first, first + 20):
        program, impl = seeded(seed)
        wanted = run_oracle(task_text(program, impl), torch.float32)
        found = run_at_once(module_text(program, impl))
        assert_same_values(found, wanted.used[-wanted.returned :], 1e-4)


def compared_with(reference: list[torch.Tensor], checked: Checked) -> Verdict:
    """The verdict where the reference gives these tensors, which are those of the data drawn: no other is tried."""
    session = Session(checked.spec, reference=lambda *_, **__: reference, dtype=torch.float64, examine=False)
    return session.verify(checked)


def test_a_verdict_accepts_what_the_oracle_returns_and_nothing_else() -> None:
    finite = 0
    for seed in range(count(30)):
        program, impl = seeded(seed)
        text = task_text(program, impl)
        wanted = run_oracle(text)
        outputs = [tensor for stream in wanted.used[-wanted.returned :] for tensor in dense(stream)]
        _, checked = check(text)
        verdict = compared_with(outputs, checked)
        assert verdict.shape.ok
        assert verdict.affine.ok
        # NaN equals nothing.
        assert verdict.functional.ok == (not any(tensor.isnan().any() for tensor in outputs)), text
        if not verdict.accepted:
            continue
        finite += 1
        verdict = compared_with([outputs[0] + 0.5, *outputs[1:]], checked)
        assert verdict.functional.code == "STEP401"
        assert verdict.mismatch is not None
        assert verdict.mismatch.output == 0
        assert verdict.mismatch.index == (0,) * outputs[0].dim()
    assert finite > count(20)


# A sample of what `make soak` tries for minutes.
@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_000 + count(200), 50))
def test_many_long_programs_agree_with_the_oracle(first: int) -> None:
    for seed in range(first, first + 50):
        program = generate(Random(seed), 16)
        impl = impl_text(program, Random(seed))
        try:
            assert_agrees(program, impl)
        except Exception as error:
            error.add_note(f"seed {seed}, 16 steps\n{task_text(program, impl)}")
            raise


COVERAGE = covered(generate(Random(seed), STEPS) for seed in range(300))


def test_every_pair_of_operators_occurs() -> None:
    pairs = {(first, second) for first in OPERATORS for second in OPERATORS}
    assert pairs - COVERAGE.pairs == set(IMPOSSIBLE)
    assert COVERAGE.pairs <= pairs


@pytest.mark.parametrize("op", OPERATORS)
def test_every_operator_meets_every_kind_of_stream(op: str) -> None:
    wanted = {f"{op} rank 1", f"{op} rank 2", f"{op} rank 3", f"{op} size 1"}
    if op not in ("Accum", "Scan", "Flatten", "Bufferize"):  # these need a dimension that they can take
        wanted.add(f"{op} rank 0")
    if op not in ("Bufferize", "Streamify"):  # these refuse tuples
        wanted |= {f"{op} tuple of 2", f"{op} tuple of 3"}
    wanted |= {f"{op} buffer of selectors", f"{op} buffer of rank 2"}
    if op != "Streamify":
        wanted.add(f"{op} selectors")
    assert wanted - COVERAGE.features == set()


def test_every_rare_case_occurs() -> None:
    wanted = {f"Promote b={b} of rank {rank}" for rank in range(4) for b in range(rank + 2)}
    wanted |= {
        f"Flatten {list(range(first, last + 1))} of rank {rank}"
        for rank in range(1, 4)
        for first in range(1, rank + 1)
        for last in range(first, rank + 1)
    }
    wanted |= {
        f"{op} b={b} of rank {rank}" for op in ("Accum", "Scan") for rank in range(1, 4) for b in range(1, rank + 1)
    }
    wanted |= {f"Bufferize a={a} of rank {rank}" for rank in range(1, 4) for a in range(1, rank + 1)}
    wanted |= {f"Partition by selector of rank {rank}" for rank in range(3)}
    wanted |= {f"Partition keeps {number} dimensions" for number in range(3)}
    wanted |= {"all branches empty", "one branch each", "some branches", "Map of 2 streams", "Map of 3 streams"}
    wanted |= {"Reshape 1 dimensions", "Reshape 2 dimensions", "Reshape by a symbol", "Reshape by 1", "Reshape by 2"}
    wanted |= {"Repeat by a symbol", "Repeat by 1", "Repeat by 2", "init 0", "init 1", "init -1", 'init "-inf"'}
    assert wanted - COVERAGE.features == set()
