"""Sessions: runs, verdicts, the run in fp64 that decides, and where NaN comes from."""

from __future__ import annotations

import math
import re

import pytest
import torch
from torch import Tensor

from sim_helpers import policy
from sim_tasks import ROUTED, SCALARS, SUM, TASK, Bed, task_text
from stepcore.check import Checked, check_text
from stepcore.findings.errors import SimError
from stepcore.sim.functional import Session

RIGHT = """
E1 = step.Map(fn=fn_twice).apply(E0)
E2 = step.Accum(fn=fn_sum, b=1).apply(E1)
return E2
"""


def test_right_answer_is_accepted() -> None:
    verdict = Bed().verify(RIGHT)
    assert verdict.accepted
    assert verdict.functional.max_abs_error is not None
    assert 0 <= verdict.functional.max_abs_error < 1e-5
    assert verdict.seconds > 0
    assert verdict.mismatch is None


@pytest.mark.parametrize("limits", [{"lazy": 0}, {"lazy": 0, "chunk": 1, "reduce": 1}])
def test_right_answer_with_lazy_maps(limits: dict[str, int]) -> None:
    with policy(**limits):
        assert Bed().verify(RIGHT).accepted


def test_run_returns_dense_outputs_and_every_stream() -> None:
    bed = Bed()
    graph = bed.check(RIGHT).typed
    run = bed.session.run(graph, keep=True)
    assert [[t.shape for t in output] for output in run.outputs] == [[(7,)]]
    assert [data is not None for data in run.streams] == [True] * len(graph.streams)
    twice = run.streams[graph.nodes[0].outputs[0]]
    given = run.streams[graph.inputs[0]]
    assert twice is not None
    assert given is not None
    assert torch.equal(twice.dense()[0], given.dense()[0] * 2)
    assert bed.session.run(graph).streams == []


def test_dims_override_defaults_and_seed_changes_data() -> None:
    first = Bed(dims={"M": 2, "N": 3}, seed=1).session.world.inputs[0].components[0]
    second = Bed(dims={"M": 2, "N": 3}, seed=2).session.world.inputs[0].components[0]
    assert first.shape == second.shape == (3, 2)
    assert not torch.equal(first, second)


def test_drawing_leaves_torch_generator_alone() -> None:
    torch.manual_seed(7)
    wanted = torch.rand(3)
    torch.manual_seed(7)
    Bed().verify(RIGHT)
    assert torch.equal(torch.rand(3), wanted)


def test_wrong_answer_shows_the_first_difference() -> None:
    verdict = Bed().verify("return step.Accum(fn=fn_sum, b=1).apply(E0)")
    assert verdict.shape.ok
    assert not verdict.functional.ok
    assert verdict.functional.code == "STEP401"
    assert verdict.mismatch is not None
    place = verdict.mismatch
    assert place.index == (0,)
    assert place.expected == pytest.approx(2 * place.got, rel=1e-4)
    assert verdict.functional.max_abs_error is not None
    assert verdict.functional.max_abs_error_fp64 == pytest.approx(verdict.functional.max_abs_error, rel=1e-4)
    assert verdict.nan_origin is None
    assert not verdict.accepted


def test_affine_findings_do_not_keep_it_from_running() -> None:
    verdict = Bed().verify(RIGHT.replace("return E2", "E3 = step.Map(fn=fn_twice).apply(E0)\nreturn E2"))
    assert not verdict.affine.ok
    assert verdict.affine.count == 1
    assert "E0" in verdict.affine.detail
    assert verdict.functional.ok
    assert not verdict.accepted


def test_type_errors_are_part_of_the_verdict() -> None:
    verdict = Bed().verify("return step.Accum(fn=fn_sum, b=7).apply(E0)")
    assert not verdict.shape.ok
    assert "b" in verdict.shape.detail
    assert not verdict.functional.ok
    assert verdict.functional.code == "STEP206"
    assert verdict.functional.max_abs_error is None


def test_other_output_than_declared_still_runs() -> None:
    verdict = Bed().verify("return step.Map(fn=fn_twice).apply(E0)")
    assert not verdict.shape.ok
    assert not verdict.functional.ok
    assert "shape" in verdict.functional.detail


def test_broken_text() -> None:
    verdict = Bed().verify("return step.Map(fn=")
    assert not verdict.shape.ok
    assert not verdict.functional.ok


def test_origin_of_nan_is_the_first_operator_that_makes_one() -> None:
    impl = """
    E1 = step.Map(fn=fn_twice).apply(E0)
    E2 = step.Map(fn=fn_invert).apply(E1)
    E3 = step.Map(fn=fn_twice).apply(E2)
    return step.Accum(fn=fn_sum, b=1).apply(E3)
    """
    verdict = Bed().verify("\n".join(line.strip() for line in impl.splitlines()))
    assert verdict.nan_origin is not None
    assert verdict.nan_origin.kind == "Inf"
    assert verdict.nan_origin.name == "E2"
    assert verdict.nan_origin.operator == "Map"
    assert verdict.functional.code == "STEP403"
    assert verdict.functional.max_abs_error == math.inf


ROUNDED = task_text(
    "(input_data['E0'] + 1e4 - 1e4).sum(1)", SUM, inputs=(SCALARS.replace("torch.randn", "torch.rand"),)
)


def test_fp64_decides_where_only_roundings_differ() -> None:
    verdict = Bed(ROUNDED).verify("return step.Accum(fn=fn_sum, b=1).apply(E0)")
    functional = verdict.functional
    assert functional.ok
    assert "fp64" in functional.detail
    assert functional.max_abs_error is not None and functional.max_abs_error > 1e-4
    assert functional.max_abs_error_fp64 is not None and functional.max_abs_error_fp64 < 1e-8


def test_fp64_sees_the_numbers_that_fp32_saw() -> None:
    session = Bed(ROUNDED).session
    assert torch.equal(session.world.inputs[0].components[0].double(), session.precise().inputs[0].components[0])


def test_a_failing_reference_is_reported_once_and_clearly() -> None:
    text = TASK.replace("input_data['E0'].sum(1) * 2", "input_data['E0'].sum(5)")
    verdict = Bed(text).verify(RIGHT)
    assert not verdict.functional.ok
    assert verdict.functional.code == "STEP408"
    assert "S0" in verdict.functional.detail


def test_a_failing_function_names_its_operator() -> None:
    text = TASK.replace("input_data['W'][0]]", "input_data['W'][3]]")
    verdict = Bed(text).verify(RIGHT)
    assert not verdict.functional.ok
    assert verdict.functional.code.startswith("STEP")
    assert verdict.node == 0


PYTHON = """
from typing import Annotated

import torch
import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.program(dims={M: 5, N: 7})
def total(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N,)]:
    return step.Accum(fn=add, b=1).apply(E0)
"""


def python_program() -> Checked:
    (checked,) = check_text(PYTHON, "total.py").programs
    assert checked.runnable
    return checked


def test_python_reference() -> None:
    checked = python_program()

    def reference(x: Tensor) -> Tensor:
        return x.sum(1)

    assert Session(checked.spec, reference=reference).verify(checked).accepted
    assert not Session(checked.spec, reference=lambda x: x.sum(1) + 1).verify(checked).functional.ok


def test_reference_that_raises_or_returns_something_else() -> None:
    checked = python_program()

    def failing(x: Tensor) -> Tensor:
        raise ValueError("no such luck")

    verdict = Session(checked.spec, reference=failing).verify(checked)
    assert verdict.functional.code == "STEP408"
    assert "no such luck" in verdict.functional.detail
    assert Session(checked.spec, reference=lambda x: 3).verify(checked).functional.code == "STEP408"
    assert Session(checked.spec, reference=lambda x: (x.sum(1), x)).verify(checked).functional.code == "STEP408"


def test_no_reference() -> None:
    checked = python_program()
    verdict = Session(checked.spec).verify(checked)
    assert verdict.shape.ok
    assert not verdict.functional.ok
    assert verdict.functional.code == "STEP411"


def test_session_in_fp64() -> None:
    checked = python_program()
    session = Session(checked.spec, reference=lambda x: x.sum(1), dtype=torch.float64)
    assert session.run(checked.typed).outputs[0][0].dtype == torch.float64
    assert session.verify(checked).accepted


def test_measured_sizes_of_branches() -> None:
    bed = Bed(ROUTED)
    checked = bed.check(
        "E2, E3 = step.Copy().apply(E1)\n"
        "A, B = step.Partition(N=2).apply((E0, E2))\n"
        "return step.Merge(fn=fn_take).apply(([A, B], E3))"
    )
    assert bed.session.verify(checked).accepted
    sizes = bed.session.run(checked.typed, keep=True).measured_sizes(checked.typed)
    assert len(sizes) == 2
    assert sum(sizes.values()) == 5


def test_branch_that_does_not_fit() -> None:

    bed = Bed(ROUTED)
    verdict = bed.verify("A, B = step.Copy().apply(E0)\nreturn step.Merge(fn=fn_take).apply(([A, B], E1))")
    assert verdict.functional.code == "STEP409"
    assert re.search(r"branch \d has (1 chunk|\d+ chunks), but .* with (1 bit|\d+ bits);", verdict.functional.detail)
    assert verdict.node == 1


def test_memory_is_bounded_before_anything_is_drawn() -> None:
    with pytest.raises(SimError) as caught:
        Bed(dims={"M": 1_000_000, "N": 1_000_000})
    assert caught.value.code == "STEP406"
    assert caught.value.needed is not None and caught.value.needed > 4 * 10**12
    assert caught.value.limit == 4 << 30
