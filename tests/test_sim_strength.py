"""What a verification is worth: inputs on which no result depends, and stronger data that bring them to light."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

import warm
from agent_tasks import TASKS, TASKS2, TASKS3, load
from job_records import candidates
from sim_tasks import SUM, Bed, function, task_text
from stepagents.judge import Judge
from stepcore.cli import main
from stepcore.findings.verdict import Untested
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.results import run_diagnostics
from stepcore.jobdata.programs import Decided, SimulateRequest, VerdictRow
from stepcore.sim.flow import FlowMode, reaching
from stepcore.sim.functional import Session
from stepcore.sim.strength import Recipe, Strength, examine_world, redraw
from stepcore.sim.worker.simulate import simulate
from stepcore.sim.worker.tasks import forget_tasks
from stepcore.sim.worker.verify import row
from stepcore.sim.world import World

ROOT = Path(__file__).parents[1]
WEIGHT = "{name: W, dtype: fp32, dims: [1], data_gen: torch.randn}"
ZEROS = "E1 = step.Map(fn=fn_zero).apply(E0)\nreturn E1"


def centred(name: str = "W", sizes: str = "[1, N]") -> str:
    """A task whose only result is a mean over ``sizes`` (one element where the first is 1), off that element."""
    stream = f"{{name: E0, dtype: fp32, dims: {sizes}, data_gen: torch.randn}}"
    parameter = f"{{name: {name}, dtype: fp32, dims: [1], data_gen: torch.randn}}"
    # Values are computed with the weight, but one element less its own mean is 0 whatever the weight is.
    reference = f"x = input_data['E0'] * input_data['{name}']\n    x - x.mean(1, keepdim=True)"
    zero = function("fn_zero", "input[0] * 0")
    return task_text(reference, zero, inputs=(stream,), parameters=parameter, dims=sizes)


def gated(bound: float, weight: str = "torch.randn") -> str:
    """A task whose weight counts only where an input is larger than ``bound``."""
    reference = f"torch.where(input_data['E0'] > {bound}, input_data['W'] * input_data['E0'], torch.tensor(0.0))"
    right = function("fn_gate", f"torch.where(input[0] > {bound}, input_data['W'][0] * input[0], input[0] * 0)")
    return task_text(
        reference,
        right,
        function("fn_zero", "input[0] * 0"),
        parameters=f"{{name: W, dtype: fp32, dims: [1], data_gen: {weight}}}",
        dims="[M, N]",
    )


def test_a_reference_that_reads_no_input_is_said_to_be_a_constant() -> None:
    verdict = Bed(task_text("torch.zeros(N_value)", SUM, function("fn_zero", "input[0] * 0"))).verify(
        "return step.Accum(fn=fn_sum, b=1).apply(step.Map(fn=fn_zero).apply(E0))"
    )
    assert verdict.accepted
    assert verdict.untested == Untested((), ("S0",))


@pytest.mark.parametrize(
    "made",
    ["torch.empty(1)[0]", "torch.empty_like(input[0])", "input[0].new_empty(())", "torch.empty([], dtype=torch.int32)"],
)
def test_memory_that_nobody_wrote_is_right_by_no_chance(made: str) -> None:
    """Fresh memory is often zero: a program that returns it was accepted."""
    unwritten = function("fn_zero", f"({made} * 1.0)")
    assert not Bed(task_text("input_data['E0'] * 0", unwritten, dims="[M, N]")).verify(ZEROS).accepted
    written = function("fn_zero", f"(torch.zeros_like({made}) * input[0])")
    assert Bed(task_text("input_data['E0'] * 0", written, dims="[M, N]")).verify(ZEROS).accepted


def test_what_no_result_depends_on_is_named() -> None:
    verdict = Bed(centred()).verify(ZEROS)
    assert verdict.accepted
    assert verdict.untested == Untested(("E0", "W"), ("S0",))
    assert verdict.untested.note == (
        "no result depends on E0 or W: a program without them is accepted, too; "
        "S0 is the same for all inputs: a program that returns constants is accepted, too"
    )


def test_where_the_size_is_larger_the_same_task_is_tested() -> None:
    verdict = Bed(centred(sizes="[M, N]")).verify(ZEROS)
    assert not verdict.accepted
    assert verdict.functional.code == "STEP401"


def test_one_weight_of_several_results() -> None:
    """A result that depends on its input does not hide that the other one is constant, nor the weight of that one."""
    text = centred() + (
        "- name: S1\n  dtype: fp32\n  dims: [1, N]\n  data_transform:\n  - |\n    input_data['E0'] * 2\n"
    )
    text = text.replace("outputs:", function("fn_twice", "input[0] * 2") + "outputs:", 1)
    impl = (
        "A, B = step.Copy().apply(E0)\nE1 = step.Map(fn=fn_zero).apply(A)\n"
        "E2 = step.Map(fn=fn_twice).apply(B)\nreturn E1, E2"
    )
    verdict = Bed(text).verify(impl)
    assert verdict.accepted
    assert verdict.untested == Untested(("W",), ("S0",))


@pytest.mark.parametrize("bound", [6, 40, 200])
def test_stronger_data_tell_programs_apart(bound: float) -> None:
    bed = Bed(gated(bound))
    wrong = bed.verify(ZEROS)
    assert not wrong.accepted
    assert wrong.functional.code == "STEP401"
    assert wrong.functional.detail.startswith("right on the data drawn, which hardly test it, but not on other data (")
    right = bed.verify("E1 = step.Map(fn=fn_gate).apply(E0)\nreturn E1")
    assert right.accepted
    assert right.untested is None


def test_data_that_happen_to_give_zeros_everywhere_are_not_trusted() -> None:
    """With these 35 numbers no one is above 2.9; with other seeds some are."""
    bed = Bed(gated(2.9))
    assert not bool((bed.session.world.inputs[0].components[0] > 2.9).any())
    assert not bed.verify(ZEROS).accepted


def test_stronger_data_on_which_the_reference_fails_do_not_count() -> None:
    """Only numbers from 0 to 1 have this logarithm; nothing finite says more about W."""
    reference = "torch.log(1 - input_data['E0']) * 0 * input_data['W']"
    text = task_text(
        reference,
        function("fn_zero", "input[0] * 0"),
        inputs=("{name: E0, dtype: fp32, dims: [M, N], data_gen: torch.rand}",),
        parameters=WEIGHT,
        dims="[M, N]",
    )
    verdict = Bed(text).verify(ZEROS)
    assert verdict.accepted
    assert verdict.untested is not None
    assert verdict.untested.inputs == ("E0", "W")


def test_inputs_that_are_used_for_their_shape_only_raise_no_alarm() -> None:
    reference = "input_data['E0'].unsqueeze(-1).expand_as(input_data['E1']) + torch.zeros_like(input_data['E1'])"
    text = task_text(
        reference,
        inputs=(
            "{name: E0, dtype: fp32, dims: [N], data_gen: torch.randn}",
            "{name: E1, dtype: fp32, dims: [M, N], data_gen: torch.ones}",
        ),
        dims="[M, N]",
    )
    verdict = Bed(text).verify("E2 = step.RepeatRef().apply((E0, E1))\nreturn E2")
    assert verdict.accepted
    assert verdict.untested is None


def test_ones_that_count_stay_ones_for_programs_and_one_without_them_is_told() -> None:
    """A program without a weight that is all ones was accepted without a word."""
    text = task_text(
        "input_data['E0'] * input_data['W']",
        function("fn_same", "input[0] * 1"),
        function("fn_right", "input[0] * input_data['W'][0]"),
        parameters="{name: W, dtype: fp32, dims: [1], data_gen: torch.ones}",
        dims="[M, N]",
    )
    bed = Bed(text)
    verdict = bed.verify("E1 = step.Map(fn=fn_same).apply(E0)\nreturn E1")
    assert verdict.accepted
    assert verdict.untested == Untested(fixed=("W",))
    assert verdict.untested.note == "W is all ones or zeros as drawn: with other numbers this program is wrong in it"
    right = bed.verify("E1 = step.Map(fn=fn_right).apply(E0)\nreturn E1")
    assert right.accepted
    assert right.untested is None


def test_a_selector_stays_a_selector_when_it_is_redrawn() -> None:
    task = read_task(
        task_text(
            "input_data['E1'].sum(-1)",
            inputs=('{name: E1, dtype: "Multihot(fp32, 3)", dims: [M, N], min: 1, max: 2}',),
            dims="[M, N]",
        ),
        "bed.step.yaml",
    )
    assert task.spec is not None
    session = Session(task.spec)
    (port,), now = task.spec.inputs, session.precise().drawn["E1"]
    (found,) = redraw(port, now, session.bindings, Recipe(1, 64.0, True), alone=False)
    assert set(found.flatten().tolist()) == {0.0, 1.0}
    assert set(found.sum(-1).flatten().tolist()) <= {1.0, 2.0}
    assert found.dtype == now[0].dtype == torch.float64
    assert not torch.equal(found, now[0])


def test_the_examination_leaves_torch_generator_alone_and_is_made_once() -> None:
    bed = Bed(centred())
    torch.manual_seed(3)
    before = torch.get_rng_state()
    bed.verify(ZEROS)
    assert torch.equal(torch.get_rng_state(), before)
    assert bed.session.strength() is bed.session.strength()
    assert bed.verify(ZEROS).untested == Bed(centred()).verify(ZEROS).untested


def count_examinations(monkeypatch: pytest.MonkeyPatch) -> list[World]:
    """Return a list to which each examination from now on adds what it examines."""
    examined: list[World] = []

    def examine(world: World, flow: FlowMode) -> Strength:
        examined.append(world)
        return examine_world(world, flow)

    monkeypatch.setattr("stepcore.sim.unsaid.examine_world", examine)
    forget_tasks()
    return examined


SAVED = f"# sizes\nglobal: |\n  scale = 2.0\n{gated(0.0)}impl: |\n  E1 = step.Map(fn=fn_gate).apply(E0)\n  return E1\n"


@pytest.mark.parametrize(
    ("old", "new", "times"),
    [
        ("# sizes", "# other words\n# in more lines", 1),
        ("step.Map(fn=fn_gate).apply(E0)", "step.Map(fn=fn_gate).apply(E0)  # the gate", 1),
        ("scale = 2.0", "scale = 3.0", 2),
        ("data_gen: torch.randn", "data_gen: torch.rand", 2),
        ("torch.tensor(0.0)", "torch.tensor(0)", 2),
        ("input_data['W'][0] * input[0]", "input[0] * input_data['W'][0]", 2),
        ("dims: [M, N]", "dims: [N, M]", 2),
        ("input[0] * 0]", "input[0] * 0.0]", 2),
    ],
)
def test_the_data_of_a_saved_task_are_examined_again_where_it_says_something_else(
    old: str, new: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    examined = count_examinations(monkeypatch)
    assert SAVED.count(old) > 0
    for text in (SAVED, SAVED.replace(old, new)):
        (candidate,) = candidates({"path": "saved.step.yaml", "text": text})
        assert candidate.verify().functional.code == ""
        assert candidate.session.strength() == Session(candidate.session.spec).strength()
    assert len(examined) - 2 == times  # two are those compared with


def test_other_data_of_a_task_are_examined_for_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    examined = count_examinations(monkeypatch)
    for asked in ({}, {"seed": 7}, {"dims": {"M": 3}}):
        (candidate,) = candidates({"path": "saved.step.yaml", "text": SAVED, **asked})
        candidate.verify()
    assert len(examined) == 3


def test_a_wrong_program_costs_no_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_world: object, _flow: object) -> None:
        raise AssertionError("examined")

    monkeypatch.setattr("stepcore.sim.unsaid.examine_world", never)
    assert not Bed(gated(0.5)).verify(ZEROS).accepted


class Told:
    """A job's context that keeps what is told."""

    def __init__(self) -> None:
        self.verdicts: list[VerdictRow] = []

    def check(self) -> None:
        pass

    def progress(self, news: object) -> None:
        if isinstance(news, Decided):
            self.verdicts.append(news.verdict)


def simulated(text: str, context: Told) -> VerdictRow | None:
    request = SimulateRequest("told.step.yaml", text)
    forget_tasks()
    return simulate(request, context).verdict  # type: ignore[arg-type]


def test_a_simulation_tells_its_verdict_before_it_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told()

    def examine(world: World, flow: FlowMode) -> Strength:
        assert told.verdicts, "told before"
        return examine_world(world, flow)

    monkeypatch.setattr("stepcore.sim.unsaid.examine_world", examine)
    right = SAVED.replace("step.Map(fn=fn_gate)", "step.Map(fn=fn_zero)").replace("> 0.0", "> 5.0")
    found = simulated(right, told)
    assert [verdict.accepted for verdict in told.verdicts] == [True]
    assert found is not None and not found.accepted, "on stronger data"
    assert "right on the data drawn" in found.functional.detail


def test_a_simulation_tells_once_what_is_wrong_and_nothing_where_nothing_is_compared() -> None:
    told = Told()
    found = simulated(SAVED.replace("step.Map(fn=fn_gate)", "step.Map(fn=fn_zero)"), told)
    assert found is not None and not found.functional.ok
    assert [replace(verdict, seconds=0.0) for verdict in told.verdicts] == [replace(found, seconds=0.0)]
    failing = Told()
    found = simulated(SAVED.replace("torch.tensor(0.0)", "torch.ones(3) @ torch.ones(int(torch.tensor(4)))"), failing)
    assert found is not None and found.functional.code == "STEP408"
    assert failing.verdicts == []


def _values(x: Tensor, y: Tensor, z: Tensor) -> list[Tensor]:
    first = x @ y
    out = torch.empty(2)
    out.copy_(z[0])
    second = torch.broadcast_tensors(x[:, 0], z.new_zeros(3, 2))[0]  # type: ignore[no-untyped-call]
    third = torch.full_like(z, 2.0) if bool(y.sum() > 1e9) else torch.ones(2)
    return [first, out, second, third]


def test_what_reaches_a_result_is_seen_through_views_writes_and_decisions() -> None:
    x, y, z = torch.randn(2, 2), torch.randn(2, 2), torch.randn(3, 2)
    given = {"x": [x], "y": [y], "z": [z]}
    _, reached = reaching(FlowMode(given), lambda: _values(x, y, z))
    # ``y`` decides a branch, so it reaches all.
    assert [sorted(names) for names in reached] == [["x", "y"], ["y", "z"], ["x", "y"], ["y"]]


@pytest.mark.parametrize("path", sorted([*TASKS.glob("*.yaml"), *TASKS2.glob("*.yaml"), *TASKS3.glob("*.yaml")]))
def test_all_inputs_of_the_benchmark_tasks_are_tested(path: Path) -> None:
    task = load(path)
    assert task.spec is not None
    strength = Session(task.spec).strength()
    assert strength.untested is None
    assert strength.further == ()


PYTHON = """
from typing import Annotated
import torch
import stepcore as step
from stepcore.dims import N

@step.fn(input=step.f32, output=step.f32)
def zero(input):
    return [input[0] * 0]

def reference(x, *, W):
    return x * W - (x * W).mean(1, keepdim=True)

@step.program(reference=reference, dims={N: 7})
def centre(
    E0: Annotated[step.Stream, step.f32, (1, N)], *, W: Annotated[step.Param, step.f32, (1,)]
) -> Annotated[step.Stream, step.f32, (1, N)]:
    return step.Map(fn=zero).apply(E0)
"""


def test_python_programs_say_it_too_in_every_view(tmp_path: Path) -> None:
    file = tmp_path / "centre.py"
    file.write_text(PYTHON, encoding="utf-8")
    (candidate,) = candidates({"path": str(file), "text": PYTHON})
    found = row(str(file), candidate, candidate.session.verify(candidate.checked), 0.0)
    assert found.accepted
    assert found.untested is not None and found.untested.code == "STEP415"
    assert found.untested.inputs == ("E0", "W")
    analysis = analyze(PYTHON, str(file))
    (warning,) = run_diagnostics(analysis, "centre", found)
    assert warning.code == "STEP415"
    assert warning.severity.value == "warning"
    assert PYTHON[warning.span.start : warning.span.end] == "centre"


def test_a_script_that_verifies_itself_gives_the_same_verdict() -> None:
    names: dict[str, object] = {}
    exec(PYTHON, names)
    program = names["centre"]
    verdict = program.verify()  # type: ignore[attr-defined]
    assert verdict.accepted
    assert verdict.untested == Untested(("E0", "W"), ("S0",))
    assert "STEP415" in repr(verdict)


def test_the_command_tells_in_text_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.lend(monkeypatch)
    task = tmp_path / "centred.step.yaml"
    task.write_text(centred() + "impl: |-\n  E1 = step.Map(fn=fn_zero).apply(E0)\n  return E1\n", encoding="utf-8")
    assert main(["verify", str(task)]) == 0
    out = capsys.readouterr().out
    assert "note:       no result depends on E0 or W" in out
    assert "(STEP415)" in out
    assert "1 of 1 accepted" in out
    assert main(["verify", str(task), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["accepted"] is True
    assert found["untested"]["inputs"] == ["E0", "W"]
    assert found["untested"]["outputs"] == ["S0"]


def test_the_judge_of_models_names_what_an_accepted_answer_proves_not() -> None:
    task = read_task(centred(), "bed.step.yaml")
    judged = Judge(task).judge_program(ZEROS)
    assert judged.accepted
    assert judged.note.startswith("no result depends on E0 or W")
    other = Judge(read_task(centred(sizes="[M, N]"), "bed.step.yaml"), {"M": 1})
    found = other.judge_program(ZEROS)
    assert not found.accepted  # another size is tried, and there the result is not 0


def test_the_sum_of_a_benchmark_bed_has_no_note() -> None:
    verdict = Bed(task_text("input_data['E0'].sum(1)", SUM)).verify(
        "E1 = step.Accum(fn=fn_sum, b=1).apply(E0)\nreturn E1"
    )
    assert verdict.accepted
    assert verdict.untested is None


def chosen(condition: str, drawn: str = "torch.randn") -> str:
    """A task whose result is its first input, and where ``condition`` holds its second one."""
    streams = [f"{{name: {name}, dtype: fp32, dims: [M, N], data_gen: {drawn}}}" for name in ("E0", "E1")]
    pair = "[fp32, fp32]"
    right = function("fn_right", f"torch.where({condition.format('input[1]')}, input[1], input[0])", takes=pair)
    first = function("fn_first", "input[0]", takes=pair)
    chosen_of = condition.format("input_data['E1']")
    reference = f"torch.where({chosen_of}, input_data['E1'], input_data['E0'])"
    return task_text(reference, right, first, inputs=tuple(streams), dims="[M, N]")


@pytest.mark.parametrize(
    ("condition", "drawn"), [("{} > 20", "torch.randn"), ("{} < 0", "torch.rand"), ("{} > 2.9", "torch.randn")]
)
def test_an_input_that_counts_seldom_has_to_be_read_whatever_the_others_are(condition: str, drawn: str) -> None:
    """Inputs of one type were equal on stronger data, and what a redrawn one brings to light was not tried."""
    bed = Bed(chosen(condition, drawn))
    zipped = "return step.Map(fn={}).apply(step.Zip().apply((E0, E1)))"
    assert bed.verify(zipped.format("fn_right")).accepted
    wrong = bed.verify(zipped.format("fn_first"))
    assert not wrong.accepted
    assert wrong.functional.detail.startswith("right on the data drawn, which hardly test it, but not on other data")


def test_inputs_of_one_type_are_redrawn_apart() -> None:
    session = Bed(chosen("{} > 20")).session
    ports = session.spec.inputs
    recipe = Recipe(1, 64.0)
    found = [redraw(port, session.world.drawn[port.name], session.bindings, recipe, alone=False) for port in ports]
    assert not torch.equal(found[0][0], found[1][0])
