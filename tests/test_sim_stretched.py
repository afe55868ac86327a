"""Programs that are right near 1 only, and numbers that are compared in Python: other numbers tell them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from job_records import candidates
from sim_tasks import Bed, task_text
from stepcore.findings.verdict import Verdict
from stepcore.sim import runs, stretched
from stepcore.sim.runs import runs_within
from stepcore.sim.strength import Recipe
from stepcore.sim.world import World
from test_sim_conditions import MAPPED, PYTHON, X, assert_wrong_elsewhere, bed, both_ways, verdict

LIKE = [
    ("{x} * 1", "1000 * torch.tanh({x} / 1000)"),
    ("torch.nn.functional.gelu({x} * 0.01)", "torch.nn.functional.gelu({x} * 0.01, approximate='tanh')"),
    ("torch.nn.functional.softplus({x}, 1, 5)", "torch.nn.functional.softplus({x} * 1.0)"),
    ("{x} / (1e-7 + {x}.abs())", "{x} / {x}.abs()"),
    ("torch.sin({x} * 1e-3)", "{x} * 1e-3"),
    ("torch.log1p({x} * 1e-4)", "{x} * 1e-4"),
    ("torch.expm1({x} * 1e-4)", "{x} * 1e-4"),
    ("torch.sqrt({x} * {x} + 1e-9)", "{x}.abs()"),
    ("torch.rsqrt({x} ** 2 + 1e-10)", "1 / {x}.abs()"),
    ("{x} + 1e-7 * {x} ** 3", "{x} * 1"),
    ("{x} * torch.exp(-1e-9 * {x} ** 4)", "{x} * 1"),
    ("torch.nn.functional.silu({x} * 0.001)", "{x} * 0.0005 + {x} ** 2 * 0.25e-6"),
]


@pytest.mark.parametrize(("one", "other"), LIKE)
def test_functions_that_agree_near_1_only_are_told_apart(one: str, other: str) -> None:
    assert_wrong_elsewhere(one, other)


# The same functions, of which one side rounds, overflows or saturates far from 1 or close to 0.
SAME = [
    ("torch.log(torch.sigmoid({x}))", "torch.nn.functional.logsigmoid({x})"),
    ("torch.log(1 - torch.sigmoid({x}))", "-torch.nn.functional.softplus({x})"),
    ("torch.tanh({x})", "(torch.exp(2 * {x}) - 1) / (torch.exp(2 * {x}) + 1)"),
    ("torch.expm1({x}) / {x}", "(torch.exp({x}) - 1) / {x}"),
    ("torch.log(torch.exp({x}))", "{x} * 1"),
    ("torch.atanh(torch.tanh({x}))", "{x} * 1"),
    ("torch.asinh({x})", "torch.log({x} + torch.sqrt({x} * {x} + 1))"),
    ("torch.acosh(1 + {x} ** 2)", "torch.log(1 + {x} ** 2 + torch.sqrt((1 + {x} ** 2) ** 2 - 1))"),
    ("1 - torch.tanh({x}) ** 2", "1 / torch.cosh({x}) ** 2"),
    ("torch.erfc({x})", "1 - torch.erf({x})"),
    ("torch.logaddexp({x}, {x} * 2)", "torch.log(torch.exp({x}) + torch.exp(2 * {x}))"),
    ("(1 - torch.cos({x})) / {x} ** 2", "2 * torch.sin({x} / 2) ** 2 / {x} ** 2"),
    ("(torch.sqrt({x} ** 2 + 1) - 1) / {x} ** 2", "1 / (torch.sqrt({x} ** 2 + 1) + 1)"),
    ("torch.nn.functional.softplus({x})", "torch.log(1 + torch.exp({x}))"),
    ("({x} + 1000) - 1000", "{x} * 1"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_rounding_and_overflow_make_no_program_wrong(one: str, other: str) -> None:
    for _, found in both_ways(one, other):
        assert found.accepted, found.detail
        assert found.untested is None


COMPARED = [
    "{x} * 0 if {x}.item() > 1000 else {x} * 1",
    "{x} * 0 if int({x}) == 77 else {x} * 1",
    "{x} * 0 if 77 <= float({x}) < 78 else {x} * 1",
    "torch.tensor(min({x}.item(), 55.0))",
    "{x} * 0 if {x}.tolist() > 5000 else {x} * 1",
    "{x} * 0 if round({x}.item()) == -123 else {x} * 1",
    "{x} * 0 if {x}.item() * 2 + 7 == 131 else {x} * 1",
]


@pytest.mark.parametrize("body", COMPARED)
def test_numbers_that_leave_torch_meet_the_constants_of_the_text(body: str) -> None:
    found = verdict(f"{X} * 1", body.format(x="input[0]"))
    assert not found.accepted
    assert "right on the data drawn" in found.functional.detail


def python_verdict(tmp_path: Path, function: str, reference: str) -> Verdict:
    text = PYTHON.replace("torch.where(input[0] * input[0] < -1, input[0] * 0, input[0])", function)
    text = text.replace("if torch.cos(x).sum() > 1000:", reference)
    assert function in text and reference in text
    file = tmp_path / "own.py"
    file.write_text(text, encoding="utf-8")
    (candidate,) = candidates({"path": str(file), "text": text})
    return candidate.verify()


@pytest.mark.parametrize("condition", ["if x.flatten()[3].item() > 300:", "if any(int(v) == 77 for v in x.flatten()):"])
def test_so_they_do_in_references_of_python(tmp_path: Path, condition: str) -> None:
    found = python_verdict(tmp_path, "input[0] * 1", condition)
    assert not found.accepted
    assert "right on the data drawn" in found.functional.detail


def test_a_condition_in_python_on_both_sides_is_accepted() -> None:
    found = verdict(f"torch.where({X} < 300, {X}, {X} * 2)", "input[0] * 1 if input[0].item() < 300 else input[0] * 2")
    assert found.accepted, found.detail
    assert found.untested is None


def test_where_places_of_the_largest_are_asked_for_saturation_makes_no_program_wrong() -> None:
    """Softmax of large numbers is 1 and 0, and which of many zeros comes second is nobody's promise."""
    shape = "torch.nn.functional.one_hot({0}.topk(2, -1).indices[..., 1], 7).to(torch.float32)"
    stream = '{name: E0, dtype: "Buffer(fp32, [7])", dims: [M], data_gen: torch.randn}'
    own = (
        "- name: fn_own\n  func_name: fn_own\n  input_dtype: Buffer(fp32, [7])\n  output_dtype: Buffer(fp32, [7])\n"
        f"  apply: |\n    return [{shape.format('torch.sigmoid(-input[0] * 3)')}]\n"
    )
    text = task_text(shape.format(f"(-{X})"), own, inputs=(stream,), dims="[M]")
    text = text.replace("- name: S0\n  dtype: fp32", '- name: S0\n  dtype: "Buffer(fp32, [7])"')
    found = Bed(text).verify(MAPPED.format("own"))
    assert found.accepted, found.detail


def test_data_are_stretched_once_for_a_task_and_runs_follow_work(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []
    drawn = stretched._stretched

    def counted(recipe: Recipe, base: World) -> World | None:
        made.append(recipe.spread)
        return drawn(recipe, base)

    monkeypatch.setattr(stretched, "_stretched", counted)
    task = bed(f"{X} * 7", "input[0] * 7")
    assert task.verify(MAPPED.format("own")).accepted
    task.session._computing.clear()  # as another program that is right
    assert task.verify(MAPPED.format("own")).accepted
    assert made == [8.0, 1024.0, 2.0**-20]
    plain = bed(f"{X} * 2", "input[0] * 2")
    assert plain.verify(MAPPED.format("own")).accepted
    assert len(made) == 3  # nothing is hidden where no constant is far from 1
    monkeypatch.setattr(runs, "_BUDGET", 0)
    assert bed(f"{X} * 1", "1000 * torch.tanh(input[0] / 1000)").verify(MAPPED.format("own")).accepted


def test_a_long_run_is_repeated_a_few_times() -> None:
    """One of more work than the whole budget was not repeated at all."""
    assert runs_within(0) == runs_within(1) == 1 << 28
    assert runs_within(1 << 26) == 4
    assert runs_within(1 << 29) == runs_within(1 << 30) == 4
    assert runs_within(1 << 31) == 2
    assert runs_within(1 << 33) == 0


def test_programs_with_fixed_numbers_alone_have_nothing_to_stretch() -> None:
    found = verdict(f"{X} * 1", "input[0] * 1", more=", data_gen: torch.ones")
    assert found.accepted, found.detail


def test_whole_numbers_are_no_matter_of_stretching() -> None:
    found = verdict(f"{X}.to(torch.float32)", "input[0].to(torch.float32)", "int32", "")
    assert found.accepted, found.detail
    assert found.untested is None
