"""What programs share that compute the same: what their runs take and what verdicts on them are worth is found once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from sim_tasks import SUM, Bed, function, task_text
from stepcore.graph.typed import TypedGraph
from stepcore.sim.functional import Session
from test_feedback import TWICE, program_of

_TASK = task_text(
    "input_data['E0'].sum(1)",
    SUM,
    function("fn_large", "torch.where(input[0] > 100, input[0] * 2, input[0])"),
    function("fn_late", "state[0] + torch.where(input[0] > 90, input[0] * 0, input[0])", init=0),
)
_FOLD = "step.Accum(fn=fn_sum, b=1).apply"
_PLAIN = f"return {_FOLD}(E0)"
_SAME = (
    f"E1 = step.Identity().apply(E0)\nreturn {_FOLD}(E1)",
    f"E1 = {_FOLD}(E0)\nE2 = step.Identity().apply(E1)\nreturn E2",
    f"E1, E2 = step.Copy().apply(E0)\nE3 = step.Identity().apply(E2)\nreturn {_FOLD}(E3)",
    f"E1, E2, E3 = step.Copy(n=3).apply(E0)\nreturn {_FOLD}(E1)",
)
_OTHERS = (
    "return step.Scan(fn=fn_sum, b=1).apply(E0)",
    "return step.Accum(fn=fn_late, b=1).apply(E0)",
    f"E1 = step.Map(fn=fn_large).apply(E0)\nreturn {_FOLD}(E1)",
    f"E1, E2 = step.Copy().apply(E0)\nE3 = step.Map(fn=fn_large).apply(E1)\nreturn {_FOLD}(E2)",
)


def _steps(bed: Bed, impl: str) -> Any:
    return bed.check(impl).typed.steps


def _results(bed: Bed, impl: str) -> list[list[torch.Tensor]]:
    return bed.session.run(bed.check(impl).typed).outputs


@pytest.mark.parametrize("impl", _SAME)
def test_what_passes_streams_on_is_no_step(impl: str) -> None:
    bed = Bed(_TASK)
    assert _steps(bed, impl) == _steps(bed, _PLAIN)
    assert hash(_steps(bed, impl)) == hash(_steps(bed, _PLAIN))
    torch.testing.assert_close(_results(bed, impl), _results(bed, _PLAIN), rtol=0, atol=0)


def test_other_operators_functions_and_streams_are_other_steps() -> None:
    bed = Bed(_TASK)
    assert len({_steps(bed, impl) for impl in (_PLAIN, *_OTHERS)}) == 1 + len(_OTHERS)


def test_the_order_of_results_and_of_streams_counts() -> None:
    pairs = task_text(
        "input_data['E0']", inputs=tuple(f"{{name: E{n}, dtype: fp32, dims: [M]}}" for n in (0, 1)), dims="[M]"
    )
    bed = Bed(pairs)
    impls = (f"return {left}, {right}" for left, right in (("E0", "E1"), ("E1", "E0"), ("E0", "E0")))
    assert len({_steps(bed, impl) for impl in impls}) == 3
    joined = (f"return step.Zip().apply(({left}, {right}))" for left, right in (("E0", "E1"), ("E1", "E0")))
    assert len({_steps(bed, impl) for impl in joined}) == 2


def test_where_loops_name_their_streams_everything_is_a_step() -> None:
    """Which loop an operator ends is a number of its streams, which those that pass some on move."""
    passed = TWICE.replace("apply([E0,", "apply([step.Identity().apply(E0),")
    one, other = (program_of(body).typed.steps for body in (TWICE, passed))
    assert one == program_of(TWICE).typed.steps
    assert one != other


def test_a_verdict_is_examined_once_for_programs_that_compute_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search finds a right program many times, with and without what passes streams on."""
    examined: list[TypedGraph] = []
    judge = Session._judge_further

    def noted(session: Session, graph: TypedGraph, *rest: Any) -> Any:
        examined.append(graph)
        return judge(session, graph, *rest)

    monkeypatch.setattr(Session, "_judge_further", noted)
    bed = Bed(_TASK)
    large = "E1 = step.Map(fn=fn_large).apply(E0)\n"
    for impl in (f"{large}return {_FOLD}(E1)", f"{large}E2 = step.Identity().apply(E1)\nreturn {_FOLD}(E2)"):
        verdict = bed.verify(impl)
        assert not verdict.accepted
        assert "hardly test" in verdict.functional.detail
    assert len(examined) == 1
    for impl in (_PLAIN, *_SAME):
        assert bed.verify(impl).accepted
    assert len(examined) == 1  # nothing is to be looked at where neither side decides anything
    for impl in ("return step.Accum(fn=fn_late, b=1).apply(E0)", f"{large}return step.Accum(fn=fn_sum, b=1).apply(E1)"):
        assert not bed.verify(impl).accepted
    assert len(examined) == 2
