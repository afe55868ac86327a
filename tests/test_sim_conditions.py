"""Conditions that all numbers drawn meet in one way: data at which they go the other way, and what is told."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

import warm
from agent_tasks import TASKS, TASKS2, TASKS3
from job_records import candidates
from sim_tasks import Bed, function, task_text
from stepagents.judge import Judge
from stepcore.cli import main
from stepcore.findings.verdict import UntestedCondition, Verdict
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.results import run_diagnostics
from stepcore.sim import coverage, runs
from stepcore.sim.deciding import may_decide
from stepcore.sim.flow import FlowMode, Working
from stepcore.sim.worker.verify import row

MAPPED = "E1 = step.Map(fn=fn_{}).apply(E0)\nreturn E1"
STREAM = "{{name: E0, dtype: {}, dims: [M, N]{}}}"


def bed(reference: str, body: str, dtype: str = "fp32", more: str = ", data_gen: torch.randn") -> Bed:
    """A task over one stream, with the function ``fn_own`` that returns ``body``."""
    own = function("fn_own", body, takes=dtype)
    return Bed(task_text(reference, own, inputs=(STREAM.format(dtype, more),), dims="[M, N]"))


def verdict(reference: str, body: str, dtype: str = "fp32", more: str = ", data_gen: torch.randn") -> Verdict:
    return bed(reference, body, dtype, more).verify(MAPPED.format("own"))


X = "input_data['E0']"


def both_ways(one: str, other: str) -> Iterator[tuple[str, Verdict]]:
    """Each of two functions as the reference of a program that computes the other one, and what is said of that."""
    for reference, body in ((one, other), (other, one)):
        yield reference, verdict(f"{reference.format(x=X)} * 1", f"{body.format(x='input[0]')} * 1")


def assert_wrong_elsewhere(one: str, other: str) -> None:
    """A program is right on what is drawn first, and not accepted."""
    for reference, found in both_ways(one, other):
        assert not found.accepted, reference
        assert found.functional.detail.startswith(
            "right on the data drawn, which hardly test it, but not on other data"
        )


CONDITIONS = [
    ("{x} // 50", "torch.where({x} < 0, -1.0, 0.0)"),
    ("torch.floor({x} / 40)", "torch.where({x} < 0, -1.0, 0.0)"),
    ("torch.floor({x} * 0.02)", "-torch.sigmoid(-1e6 * {x})"),
    ("torch.div({x}, 70, rounding_mode='floor')", "torch.where({x} < 0, -1.0, 0.0)"),
    ("torch.ceil({x} / 60)", "({x} > 0).to({x}.dtype)"),
    ("torch.where({x} > 100, {x} * 0, {x})", "{x}"),
    ("torch.where({x} >= 100, {x} * 0, {x})", "torch.where({x} > 100, {x} * 0, {x})"),
    ("torch.where(100 < {x}, {x} * 0, {x})", "{x}"),
    ("torch.where({x} == 0, {x} + 5, {x})", "{x}"),
    ("torch.where({x} == 0.1, {x} + 5, {x})", "{x}"),
    ("torch.where({x} * 3 + 7 == 40, {x} + 5, {x})", "{x}"),
    ("torch.where({x} > 3e9, {x} * 0, {x})", "{x}"),
    ("torch.where({x} > 1e20, {x} * 0, {x})", "{x}"),
    ("torch.where({x} > 0, 1.0, -1.0).to({x}.dtype)", "torch.sign({x})"),
    ("{x}.masked_fill({x} < -50, 3.0)", "{x}"),
    ("torch.clamp({x}, max=77.0)", "{x}"),
    ("{x}.clamp(-1000.0, 1e5)", "{x}"),
    ("torch.nn.functional.hardtanh({x}, -30.0, 30.0)", "{x}"),
    ("torch.nn.functional.threshold({x}, -40.0, 2.0)", "{x}"),
    ("torch.nn.functional.hardshrink({x}, 0.02)", "{x}"),
    ("torch.nn.functional.softshrink({x}, 0.02)", "{x} - 0.02 * torch.sign({x})"),
    ("torch.nn.functional.huber_loss({x}, {x} * 0, reduction='none', delta=90.0)", "{x} * {x} / 2"),
    ("torch.maximum({x}, torch.tensor(-60.0, dtype={x}.dtype))", "{x}"),
    ("torch.minimum({x}, torch.full_like({x}, 60.0))", "{x}"),
    ("torch.remainder({x} + 500, 1000.0) - 500", "{x}"),
    ("{x} + torch.floor({x} / 1000 + 0.5)", "{x}"),
    ("{x} + torch.bucketize({x}, torch.tensor([250.0])).to({x}.dtype)", "{x}"),
    ("torch.where(({x} > 20) & ({x} < 21), {x} * 0, {x})", "{x}"),
    ("torch.where(({x} > 20) & ({x} < 20.001), {x} * 0, {x})", "{x}"),
    ("torch.where({x} > 0.5, torch.where({x} < 0.501, {x} + 100, {x}), {x})", "{x}"),
    ("torch.where(torch.isclose({x}, torch.tensor(0.5, dtype={x}.dtype), atol=1e-3), {x} + 5, {x})", "{x}"),
    ("torch.where(torch.isclose(torch.full_like({x}, -7.5), {x}, rtol=1e-4), {x} + 5, {x})", "{x}"),
]


@pytest.mark.parametrize(("conditional", "plain"), CONDITIONS)
def test_numbers_are_drawn_at_and_around_constants(conditional: str, plain: str) -> None:
    """All of these were accepted without a word: no number drawn comes near."""
    assert_wrong_elsewhere(conditional, plain)


JOINED = [
    "torch.stack([input[0], torch.tensor(1000.0)]).min()", "torch.stack([torch.tensor(-2000.0), input[0]]).amax()",
    "torch.stack([input[0], torch.tensor(1e5)]).sort().values[0]",
    "torch.cat([input[0][None], torch.full((2,), 300.0)]).amin()",
    "torch.stack([input[0], torch.tensor(-400.0), torch.tensor(400.0)]).median()",
    "torch.stack([input[0], torch.tensor(700.0)]).topk(1, largest=False).values[0]",
]  # fmt: skip


@pytest.mark.parametrize("body", JOINED)
def test_so_are_they_at_constants_beside_which_numbers_are_put_in_order(body: str) -> None:
    found = verdict(f"{X} * 1", body)
    assert not found.accepted
    assert "with numbers like" in found.functional.detail


@pytest.mark.parametrize("body", ["torch.stack([input[0], torch.tensor(1.0)]).sum() - 1", "torch.relu(input[0])"])
def test_numbers_that_are_only_put_beside_constants_need_no_note(body: str) -> None:
    reference = f"torch.relu({X})" if "relu" in body else X
    padded = f"torch.stack([torch.relu({X}), torch.zeros_like({X})]).amax(0)"
    for each in (reference, padded) if "relu" in body else (reference,):
        found = verdict(each, body)
        assert found.accepted
        assert found.untested is None


@pytest.mark.parametrize("conditional", [each for pair in CONDITIONS for each in pair if each != "{x}"])
def test_programs_with_the_same_condition_are_accepted_without_a_note(conditional: str) -> None:
    found = verdict(f"{conditional.format(x=X)} * 1", f"{conditional.format(x='input[0]')} * 1")
    assert found.accepted, found.detail
    assert found.untested is None


@pytest.mark.parametrize(
    "reference",
    [
        f"torch.maximum({X}, {X}.flip(0) - 100)",  # of two numbers that inputs reach
        f"{X} * 0 if {X}.max() > 300 else {X} * 1",
        f"{X} * (1 - ({X} > 80).any() * 1)",
        f"torch.where({X} > {X}.mean() + 40, 0, {X})",
        f"torch.where(torch.exp({X}) > 1e6, 0, {X})",
    ],
)
def test_conditions_on_what_a_reference_computes_are_met_by_larger_numbers(reference: str) -> None:
    assert not verdict(reference, "input[0] * 1").accepted


def test_whole_numbers_stay_in_their_range_and_meet_what_is_in_it() -> None:
    bounded = ", min: 0, max: 200"
    differ = "torch.where({x} == 137, {x} * 0, {x}).to(torch.float32)"
    plain = "{x}.to(torch.float32)"
    assert not verdict(differ.format(x=X), plain.format(x="input[0]"), "int64", bounded).accepted
    outside = differ.replace("137", "201").format(x=X)
    assert verdict(outside, plain.format(x="input[0]"), "int64", bounded).untested is None
    beyond = differ.replace("{x} == 137", "{x} * 2 == 301")
    found = verdict(beyond.format(x=X), plain.format(x="input[0]"), "int64", bounded)
    assert found.accepted
    assert found.untested is not None
    assert [each.note for each in found.untested.conditions] == [
        "the condition input_data['E0'] * 2 == 301 was never true: what follows it is not verified"
    ]


NEVER = "torch.where({x} * {x} < -1, {x} * 0, {x})"


def test_a_condition_that_no_data_meet_is_told_with_its_place() -> None:
    text = task_text(f"{X} * 1", function("fn_own", NEVER.format(x="input[0]")), dims="[M, N]")
    found = Bed(text).verify(MAPPED.format("own"))
    assert found.accepted
    assert found.untested is not None
    (condition,) = found.untested.conditions
    assert condition.note == "the condition input[0] * input[0] < -1 was never true: what follows it is not verified"
    assert condition.span is not None
    assert text[condition.span.start : condition.span.end] == "input[0] * input[0] < -1"


@pytest.mark.parametrize(
    ("reference", "note"),
    [
        (f"torch.where({X} ** 2 >= 0, {X}, 7)", "was always true: what follows where it is false is not verified"),
        (f"torch.relu({X} ** 2 + 1) + {X} - {X} ** 2 - 1", "no number was below 0 in torch.relu("),
        (f"{X} + torch.floor({X} * 0)", "torch.floor(input_data['E0'] * 0) never changed a number: it is not verified"),
        (f"{X}.masked_fill(torch.sin({X}) > 3, 1.0)", "torch.sin(input_data['E0']) > 3 was never true"),
        (f"{X}.clone() if torch.sin({X}).sum() > -1e30 else {X} * 0", "was always true"),
    ],
)  # fmt: skip
def test_conditions_of_the_reference_are_told_as_well(reference: str, note: str) -> None:
    found = verdict(reference, "input[0] * 1")
    assert found.accepted, found.detail
    assert found.untested is not None
    assert note in found.untested.note


@pytest.mark.parametrize(
    "reference",
    [
        f"torch.where(torch.isnan({X}), 0, {X})",
        f"torch.nan_to_num({X})",
        f"torch.where({X} != {X}, 3.0, {X})",
        f"torch.where({X} == float('-inf'), 0, {X})",
        f"torch.where(torch.arange(M_value) < 1000, {X}, 0)",  # of sizes, not of data
        f"({X} ** 2).abs() + {X} - {X} ** 2",
        f"torch.where({X} > 0, {X}, {X} * 1.0)",
    ],
)
def test_nothing_is_told_that_data_cannot_show(reference: str) -> None:
    found = verdict(reference, "input[0] * 1")
    assert found.accepted, found.detail
    assert found.untested is None


@pytest.mark.parametrize("also", ["", " + 0 * ({x} >= 1e20).all()", " + 0 * ({x} > 3).all()"])
def test_ties_of_numbers_at_constants_make_no_program_wrong(also: str) -> None:
    """Which of equal numbers is the largest is nobody's promise: with argmax each number is placed once."""
    order = "torch.nn.functional.one_hot({x}.argmax(-1), 7) * ({x} > 50)" + also
    stream = '{name: E0, dtype: "Buffer(fp32, [7])", dims: [M], data_gen: torch.randn}'
    own = (
        "- name: fn_own\n  func_name: fn_own\n  input_dtype: Buffer(fp32, [7])\n  output_dtype: Buffer(fp32, [7])\n"
        "  apply: |\n    last = 6 - input[0].flip(0).argmax()\n"
        "    return [((torch.arange(7) == last) & (input[0] > 50)).to(input[0].dtype)]\n"
    )
    text = task_text(f"({order.format(x=X)}).to({X}.dtype)", own, inputs=(stream,), dims="[M]")
    text = text.replace("- name: S0\n  dtype: fp32", '- name: S0\n  dtype: "Buffer(fp32, [7])"')
    found = Bed(text).verify(MAPPED.format("own"))
    assert found.accepted, found.detail


def test_constants_beyond_whole_numbers_are_no_numbers_to_draw() -> None:
    """Tried for what is asked of all numbers at once, 1e20 was too large for int64."""
    own = function("fn_own", "(input[0] + 1).float()", takes="int64")
    reference = f"({X} + 1 + 0 * ({X} >= 1e20).all()).float()"
    found = Bed(task_text(reference, own, inputs=(STREAM.format("int64", ""),), dims="[M, N]")).verify(
        MAPPED.format("own")
    )
    assert found.accepted, found.detail


def test_conditions_in_folds_and_at_single_positions_are_seen() -> None:
    folded = function("fn_fold", "torch.where(input[0] > 300, state[0], state[0] + input[0])", init=0)
    found = Bed(task_text(f"{X}.sum(1)", folded)).verify("return step.Accum(fn=fn_fold, b=1).apply(E0)")
    assert not found.accepted
    literal = "torch.tensor(0.0 if input[0].item() > 300 else input[0].item())"
    single = "input[0] * 0 if bool(input[0] > 300) else input[0]"
    assert not verdict(f"{X} * 1", single).accepted
    assert verdict(f"torch.where({X} > 300, 0, {X})", literal).accepted


PYTHON = """
import torch, stepcore as step
from typing import Annotated
from stepcore.dims import M, N

@step.fn(input=step.f32, output=step.f32)
def same(input):
    return [torch.where(input[0] * input[0] < -1, input[0] * 0, input[0])]

def reference(x):
    if torch.cos(x).sum() > 1000:
        return x * 0
    return x

@step.program(reference=reference)
def identity(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=same).apply(E0)
"""
NOTES = [
    "the condition torch.cos(x).sum() > 1000 was never true: what follows it is not verified",
    "the condition input[0] * input[0] < -1 was never true: what follows it is not verified",
]


def test_a_python_file_names_the_lines_of_both_sides_in_every_view(tmp_path: Path) -> None:
    file = tmp_path / "identity.py"
    file.write_text(PYTHON, encoding="utf-8")
    (candidate,) = candidates({"path": str(file), "text": PYTHON})
    found = row(str(file), candidate, candidate.verify(), 0.0)
    assert found.accepted
    assert found.untested is not None
    lines = PYTHON.split("\n")
    assert [each.note for each in found.untested.conditions] == NOTES
    for each, start in zip(found.untested.conditions, ("torch.cos", "input[0] *"), strict=True):
        assert lines[each.line - 1][each.column - 1 :].startswith(start)
    (warning,) = run_diagnostics(analyze(PYTHON, str(file)), "identity", found)
    assert warning.code == "STEP415"
    assert "(line 11, column 8)" in warning.message


def test_a_script_that_verifies_itself_gives_the_same_verdict(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(PYTHON, encoding="utf-8")
    names: dict[str, object] = {}
    exec(compile(PYTHON, str(file), "exec"), names)
    found = names["identity"].verify()  # type: ignore[attr-defined]
    assert found.accepted
    assert sorted(each.note for each in found.untested.conditions) == sorted(NOTES)
    exec(compile(PYTHON.replace("* input[0] < -1", "> 100"), str(file), "exec"), names)
    wrong = names["identity"].verify()  # type: ignore[attr-defined]
    assert not wrong.accepted
    assert "right on the data drawn" in wrong.functional.detail


def test_the_command_tells_in_text_and_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    warm.lend(monkeypatch)
    text = task_text(f"{X} * 1", function("fn_own", NEVER.format(x="input[0]")), dims="[M, N]")
    file = tmp_path / "never.step.yaml"
    file.write_text(f"{text}impl: |-\n  {MAPPED.format('own').replace(chr(10), chr(10) + '  ')}\n", encoding="utf-8")
    assert main(["verify", str(file)]) == 0
    out = capsys.readouterr().out
    assert "was never true: what follows it is not verified (line 9, column 25) (STEP415)" in out
    assert main(["verify", str(file), "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    (condition,) = found["untested"]["conditions"]
    assert (condition["line"], condition["column"]) == (9, 25)


def test_the_judge_of_models_rejects_and_tells_alike() -> None:
    gated = function("fn_own", "torch.where(input[0] > 100, input[0] * 0, input[0])")
    never = function("fn_never", NEVER.format(x="input[0]"))
    judge = Judge(read_task(task_text(f"{X} * 1", gated, never, dims="[M, N]"), "bed.step.yaml"))
    assert not judge.judge_program(MAPPED.format("own")).accepted
    judged = judge.judge_program(MAPPED.format("never"))
    assert judged.accepted
    assert "was never true: what follows it is not verified" in judged.note


def test_a_verdict_does_not_depend_on_what_was_verified_before() -> None:
    reference = f"torch.where({X} * {X} < -1, 0, {X})"
    first = bed(reference, "input[0] * 1")
    one = first.verify(MAPPED.format("own")).untested
    assert one is not None
    assert one.conditions == (
        UntestedCondition(
            "the condition input_data['E0'] * input_data['E0'] < -1 was never true: what follows it is not verified",
            one.conditions[0].span,
        ),
    )
    assert first.verify(MAPPED.format("own")).untested == one
    assert bed(reference, "input[0] * 1").verify(MAPPED.format("own")).untested == one


@pytest.mark.parametrize(
    "path", sorted([*TASKS.glob("*.yaml"), *TASKS2.glob("*.yaml"), *TASKS3.glob("*.yaml")]), ids=lambda path: path.name
)
def test_no_published_task_is_told_needlessly(path: Path) -> None:
    (candidate,) = candidates({"path": str(path), "text": path.read_text(encoding="utf-8")})
    found = candidate.verify()
    assert found.accepted, found.detail
    assert found.untested is None, found.untested.note


def test_most_functions_need_no_second_run() -> None:
    """Only those whose text may decide something are run again: the others would pay for nothing."""
    plain = bed(X, "torch.exp(input[0] * 2) / (1 + input[0])")
    assert not may_decide(plain.check(MAPPED.format("own")).typed, None)
    online = function("fn_top", "torch.maximum(state[0], input[0])", init=0)
    task = Bed(task_text(f"{X}.amax(1).clamp(min=0.0)", online))
    assert not may_decide(task.check("return step.Accum(fn=fn_top, b=1).apply(E0)").typed, None)
    for body in ("torch.maximum(input[0], torch.zeros_like(input[0]))", "max(input[0], 0)", "torch.sign(input[0])"):
        assert may_decide(bed(X, body).check(MAPPED.format("own")).typed, None), body


@pytest.mark.parametrize("most", [0, 1 << 19])
def test_where_the_search_for_numbers_ends_is_counted_and_told(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ended after a second of the processor, without a word: a verdict depended on the machine."""
    monkeypatch.setattr(coverage, "runs_within", lambda work: most // work)
    monkeypatch.setattr(time, "process_time", lambda: pytest.fail("a verdict looks at the processor's time"))
    found = [verdict(f"{X} * 1", NEVER.format(x="input[0]")) for _ in range(2)]
    first, second = ([each.note for each in each.untested.conditions] for each in found if each.untested is not None)
    assert first == second
    assert all(each.accepted for each in found)
    assert "was never true: what follows it is not verified" in first[0]
    assert first[-1].startswith("the search for numbers at which conditions go the other way ended after ")
    assert ("after 0 tries" in first[-1]) is (most == 0)


def test_work_is_counted_alike_and_with_the_multiplications_of_products() -> None:
    """A product of large matrices counted like their sum, whatever it adds up."""
    square = torch.ones(256, 256, dtype=torch.float64)
    computed: list[Callable[[], torch.Tensor]] = [
        lambda: square + square,
        lambda: square @ square,
        lambda: torch.einsum("ij,jk->ik", square, square),
    ]
    found = []
    for compute in computed:
        working, flow = Working(), FlowMode({})
        with torch.inference_mode():
            with working:
                compute()
            with flow:
                compute()
        assert working.work == flow.work
        found.append(working.work)
    added, *products = found
    assert products == [added + 256**3 // 64] * 2


def test_where_the_search_for_a_dependence_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_BUDGET", 0)
    found = verdict(f"{X} * 1", "input[0] * 1")
    assert found.accepted
    assert found.untested is not None
    (told,) = found.untested.conditions
    assert told.note.startswith("the search for data on which results depend on E0 ended after 0 runs of the reference")


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("({x} > {x}.mean()).all()", "never"),
        ("(~({x} > {x}.mean()).all()).float()", "never"),
        ("({x} > {x}.mean()).all().float()", "never"),
        ("({x} > {x}.mean()).prod()", "never"),
        ("({x} > {x}.mean(0)).all(0)", "never"),
        ("({x} >= {x}.mean()).any()", "always"),
        ("torch.allclose({x}, {x}.abs() + 1)", "never"),
        ("({x} > 0).all()", ""),
        ("({x} > 0).prod()", ""),
        ("({x} > 300000).all(0)", "never"),
        ("({x} > -300000).any()", "always"),
        ("({x} > 0).any(0)", ""),
        ("torch.isnan({x}).any()", ""),
        ("(~torch.isfinite({x})).any()", ""),
        ("({x} == {x}).all()", ""),
    ],
)
def test_one_truth_value_of_many_that_is_always_the_same_is_told(asked: str, told: str) -> None:
    """Each of the many goes both ways; the one is used as a number, where no arm shows that it decides."""
    text = asked.format(x=X)
    found = verdict(f"{X} + 0 * {text}", "input[0]")
    assert found.accepted
    notes = [] if found.untested is None else [note.note for note in found.untested.conditions]
    assert len(notes) == bool(told)
    assert all(f"was {told} true" in note for note in notes)


@pytest.mark.parametrize(
    "reference",
    [
        f"torch.where(({X} < 0).any(), {X}, {X} * 2)", f"torch.where(({X} > 0).any(), {X}, {X} * 2)",
        f"torch.where(({X} < 0.5).all(), {X} * 2, {X})", f"{X} * (2.0 if bool(({X} >= -0.25).all()) else 1.0)",
        f"torch.where(({X} > 0.5).sum() > 0, {X}, {X} + 1)", f"{X} + ({X}.min() > 1.5).to({X}.dtype)",
        f"{X} * (2.0 if {X}.amax() < -2.0 else 1.0)", f"{X} + (({X} * 0.1) > 5).all().to({X}.dtype)",
    ],
)  # fmt: skip
def test_numbers_are_drawn_on_one_side_of_constants_only(reference: str) -> None:
    """All but zeros hold numbers on both sides of what is asked of all numbers at once."""
    assert not verdict(reference, "input[0] * 1").accepted
