"""Programs whose sizes only a run knows, from text to verdict: the simulator beside the oracle and references."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

from oracle import OracleTask, run_streams, run_task
from programs.ragged import ragged_task
from programs.running import (
    PATH,
    assert_same_lengths,
    assert_same_values,
    check,
    errors,
    run_library,
    run_oracle,
)
from stepcore.check import check_text
from stepcore.conversion.to_python import task_to_python
from stepcore.costs.bounds import Bounds
from stepcore.costs.metrics import measure
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Verdict
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.completion import completions
from stepcore.sim.functional import Session
from stepcore.sim.lengths import Lengths

FNS = """\
fns:
- name: Sum
  func_name: fn_sum
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [state[0] + input[0]]
- name: Decay
  func_name: fn_decay
  init: [1]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [0.5 * state[0] + input[0]]
- name: Twice
  func_name: fn_twice
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2]
- name: Product
  func_name: fn_product
  input_dtype: [fp32, fp32]
  output_dtype: fp32
  apply: |
    return [input[0] * input[1]]
"""


def task(inputs: str, outputs: str, impl: str, sizes: str = '{"~L": {min: 0, max: 4}}') -> str:
    """A task: inputs and outputs are lines ``NAME: TYPE [SIZES]``, those of outputs end with ``= REFERENCE``."""
    lines = [f"test_name: ragged\nsizes: {sizes}\ninputs:"]
    for line in inputs.splitlines():
        name, rest = line.split(": ", 1)
        kind, dims = rest.rsplit(" ", 1)
        how = "min: 0, max: 2" if "Multihot" in kind else "data_gen: torch.randn"
        lines.append(f'- {{name: {name}, dtype: "{kind}", dims: {_dims(dims)}, {how}}}')
    lines += [FNS + "outputs:"]
    for line in outputs.splitlines():
        head, reference = line.split(" = ", 1)
        name, rest = head.split(": ", 1)
        kind, dims = rest.rsplit(" ", 1)
        lines.append(
            f'- name: {name}\n  dtype: "{kind}"\n  dims: {_dims(dims)}\n  data_transform:\n  - |\n    {reference}'
        )
    body = "\n".join(f"  {line}" for line in impl.splitlines())
    return "\n".join(lines) + f"\nimpl: |-\n{body}\n"


def _dims(text: str) -> str:
    return "[" + ", ".join(f'"{size}"' for size in text.strip("[]").split(",")) + "]"


def verdict(text: str, dims: dict[str, int] | None = None) -> Verdict:
    """The verdict on the program of a task."""
    _, checked = check(text)
    return Session(checked.spec, dims).verify(checked)


def both(text: str) -> None:
    """The simulator's streams are the oracle's, and both accept the program."""
    found, checked = check(text)
    assert errors(found.diagnostics) == []
    parsed = OracleTask("ragged", YAML(typ="safe", pure=True).load(text))
    consumed, returned = run_streams(parsed, dtype=torch.float64)
    assert_same_values(run_library(checked), [*consumed, *returned])
    assert_same_lengths(checked, [*consumed, *returned])
    assert run_task(parsed).matches
    outcome = verdict(text)
    assert outcome.accepted, outcome.detail


def beside_the_oracle(text: str) -> None:
    """A random program has no errors, its streams are the oracle's in values and sizes, and it is read back."""
    found, checked = check(text)
    assert errors(found.diagnostics) == []
    literal = run_oracle(text)
    assert_same_values(run_library(checked), literal.used)
    assert_same_lengths(checked, literal.used)
    (again,) = check_text(task_to_python(read_task(text, PATH)), "generated.py").programs
    assert [node.op.text() for node in again.typed.nodes] == [node.op.text() for node in checked.typed.nodes]


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_beside_the_oracle(seed: int) -> None:
    beside_the_oracle(ragged_task(Random(seed)))


ROWS = "input_data['E0']"
PROGRAMS: dict[str, str] = {
    "folds": task(
        "E0: fp32 [~L,M]",
        f"S0: fp32 [M] = torch.stack([row.sum() for row in {ROWS}])\n"
        f"S1: fp32 [~L,M] = [2 * row for row in {ROWS}]\n"
        f"S2: fp32 [~L,M] = [torch.cumsum(row, 0) for row in {ROWS}]",
        "A, B, C = step.Copy(n=3).apply(E0)\n"
        "D = step.Scan(fn=fn_sum, b=1).apply(C)\n"
        "return step.Accum(fn=fn_sum, b=1).apply(A), step.Map(fn=fn_twice).apply(B), D",
    ),
    "lists in lists": task(
        "E0: fp32 [~L,~K,M]",
        f"S0: fp32 [M] = torch.stack([sum([row.sum() for row in rows], torch.zeros(())) for rows in {ROWS}])",
        "A = step.Accum(fn=fn_sum, b=1).apply(E0)\nreturn step.Accum(fn=fn_sum, b=1).apply(A)",
        '{"~L": {min: 0, max: 3}, "~K": {min: 0, max: 2}}',
    ),
    "flattened": task(
        "E0: fp32 [~L,M]",
        f"S0: fp32 [?T] = torch.cat(list({ROWS}))",
        "return step.Flatten(L=[1]).apply(E0)",
    ),
    "repeated for a reference": task(
        "E0: fp32 [~L,M]\nE1: fp32 [M]",
        f"S0: fp32 [~L,M] = [row * one for row, one in zip({ROWS}, input_data['E1'])]",
        "A, B = step.Copy().apply(E0)\nreturn step.Map(fn=fn_product).apply((A, step.RepeatRef().apply((E1, B))))",
    ),
    "routed": task(
        "E0: fp32 [?T]\nE1: Multihot(fp32, 2) [?T]",
        f"S0: fp32 [?T] = 2 * {ROWS} * input_data['E1'].sum(1)",
        "s, t = step.Copy().apply(E1)\n"
        "ys = [step.Map(fn=fn_twice).apply(p) for p in step.Partition(N=2).apply((E0, s))]\n"
        "return step.Merge(fn=fn_sum).apply((ys, t))",
        '{"?T": {min: 0, max: 9}}',
    ),
    "filled": task(
        "E0: fp32 [~L,M]",
        f"S0: fp32 [M] = torch.stack([row.sum() for row in {ROWS}])\n"
        "S1: bool [2,~N,M] = "
        f"[torch.arange(-(-len(row) // 2) * 2).unflatten(0, (-1, 2)) >= len(row) for row in {ROWS}]",
        "A, padding = step.Reshape(S=2, L=[0], pad=0).apply(E0)\nreturn step.Accum(fn=fn_sum, b=2).apply(A), padding",
    ),
    "given values": task(
        "E0: fp32 [3,~L,M]",
        f"S0: fp32 [~L,M] = [rows.sum(1) for rows in {ROWS}]",
        "return step.Accum(fn=fn_sum, b=1).apply(E0)",
        '{"~L": {values: [2, 0, 5, 1, 1]}}',
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right_beside_oracle_and_reference(name: str) -> None:
    both(PROGRAMS[name])


def test_an_empty_stream_of_a_dynamic_size() -> None:
    both(PROGRAMS["routed"].replace("{min: 0, max: 9}", "{values: [0]}"))


def test_sizes_are_drawn_before_inputs_and_by_the_seed() -> None:
    _, checked = check(PROGRAMS["lists in lists"])
    found = [Session(checked.spec, seed=seed).world.inputs[0].sizes for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    (inner, outer, count), _, _ = found
    assert isinstance(inner, Lengths) and isinstance(outer, Lengths) and count == 5
    assert len(inner.values) == outer.total and len(outer.values) == count
    assert int(inner.values.max()) <= 3 and int(outer.values.max()) <= 2


def test_values_for_other_positions_are_refused() -> None:
    text = PROGRAMS["given values"]
    _, checked = check(text)
    with pytest.raises(SimError, match=r"~L has 5 values, and there are 4 positions outside") as caught:
        Session(checked.spec, {"M": 4})
    assert caught.value.code == "STEP412"


def test_where_lists_differ() -> None:
    text = (
        PROGRAMS["folds"]
        .replace("[2 * row for", "[2 * row[:2] for")
        .replace("{min: 0, max: 4}", "{values: [1,2,3,0,1]}")
    )
    outcome = verdict(text)
    assert not outcome.accepted and "output 1 has 3 elements in the list at [2], its reference 2" in outcome.detail
    text = (
        PROGRAMS["folds"].replace("[2 * row for", "[3 * row for").replace("{min: 0, max: 4}", "{values: [0,2,3,0,1]}")
    )
    outcome = verdict(text)
    assert not outcome.accepted and "output 1 differs at [1, 0]" in outcome.detail


def doubled(reference: str) -> str:
    """A task on a stream of a dynamic size, which the seed draws as empty: any values are right there."""
    program = "return step.Map(fn=fn_twice).apply(E0)"
    return task("E0: fp32 [?T]", f"S0: fp32 [?T] = {reference}", program, '{"?T": {min: 0, max: 5}}')


def test_a_program_is_right_with_the_least_and_the_greatest_sizes_too() -> None:
    wrong = verdict(doubled("3 * input_data['E0']"))
    assert not wrong.accepted and "right with the sizes drawn, but not with ?T=5" in wrong.detail
    right = verdict(doubled("2 * input_data['E0']"))
    assert right.accepted and right.untested is None
    # Nor does a draw of some elements say what happens without any.
    sums = PROGRAMS["folds"].replace("row.sum() for", "row.sum() + (1 if len(row) == 0 else 0) for")
    assert sums != PROGRAMS["folds"]
    wrong = verdict(sums.replace("{min: 0, max: 4}", "{min: 0, max: 1000}"))
    assert not wrong.accepted and "but not with ~L=0" in wrong.detail
    # A reference that fails without elements, or is not finite there, asks nothing of programs.
    many = doubled("2 * input_data['E0'] + 0 * input_data['E0'][0]").replace("max: 5", "max: 1000")
    assert verdict(many).accepted
    means = PROGRAMS["folds"].replace("row.sum() for", "row.sum() + 0 * row.mean() for")
    assert verdict(means.replace("{min: 0, max: 4}", "{min: 0, max: 1000}")).accepted


def test_a_load_without_order_is_refused_where_the_content_is_no_result() -> None:
    text = task(
        "a: int64 [1]\nE0: Tile(fp32; [1; D]) [1]",
        "S0: Tile(fp32; [1; D]) [1] = input_data['y'][input_data['a']].unsqueeze(1)",
        "b, c = step.Copy().apply(a)\nflags = step.RandomOffChipStore(tensor=y).apply((b, E0))\n"
        "return step.RandomOffChipLoad(tensor=y, tile=[1, D]).apply(c)",
        "{}",
    )
    memory = "parameters:\n- {name: y, dtype: fp32, dims: [D, M], written: true}\n"
    text = text.replace(";", ",").replace('int64", dims: ["1"], data_gen: torch.randn', 'int64", dims: [1], max: 4')
    outcome = verdict(text.replace("fns:\n", f"{memory}fns:\n"))
    assert outcome.functional.code == "STEP417", outcome.detail


@pytest.mark.parametrize("reference", ["[2 * row for row in input_data['E0']]", "2 * input_data['E0']"])
def test_a_size_declared_as_ragged_may_be_static(reference: str) -> None:
    text = task("E0: fp32 [K,M]", f"S0: fp32 [~A,M] = {reference}", "return step.Map(fn=fn_twice).apply(E0)", "{}")
    assert verdict(text).accepted
    wrong = verdict(text.replace(reference, reference.replace("2", "3", 1)))
    assert "output 0 differs at [0, 0]" in wrong.detail
    wrong = verdict(text.replace(reference, "[row[:m] for m, row in enumerate(input_data['E0'])]"))
    assert "output 0 has 9 elements in the list at [0], its reference 0" in wrong.detail


def test_lists_without_elements_are_of_any_dtype() -> None:
    text = task("E0: int64 [~L,M]", "S0: int64 [~L,M] = input_data['E0']", "return step.Identity().apply(E0)")
    assert verdict(
        text.replace("{min: 0, max: 4}", "{values: [0, 0, 0, 0, 0]}").replace(", data_gen: torch.randn", "")
    ).accepted


def test_a_reference_of_lists_that_gives_none() -> None:
    outcome = verdict(PROGRAMS["folds"].replace("[2 * row for row in input_data['E0']]", "torch.zeros(())"))
    assert outcome.functional.code == "STEP408" and "S1 gives no nested lists" in outcome.detail


def test_memory_is_bounded_by_the_largest_sizes() -> None:
    text = PROGRAMS["folds"].replace("{min: 0, max: 4}", "{min: 0, max: 4000000}")
    _, checked = check(text)
    with pytest.raises(SimError) as caught:
        Session(checked.spec, limit=1 << 26)
    assert caught.value.code == "STEP406"


def test_short_lists_are_bounded_by_how_many_there_are() -> None:
    """A reference gets a tensor for each list: a hundred million numbers in short ones would take minutes."""
    _, checked = check(PROGRAMS["folds"])
    bounds = Bounds(checked.spec, checked.spec.bindings({"M": 10_000_000}))
    assert bounds.fixed < 4 << 30 < bounds.lists
    with pytest.raises(SimError, match="the lists of ragged sizes, each of which is a tensor") as caught:
        Session(checked.spec, {"M": 10_000_000})
    assert caught.value.code == "STEP406"
    _, checked = check(PROGRAMS["folds"].replace("{min: 0, max: 4}", "{min: 0, max: 4000}"))
    assert Bounds(checked.spec, checked.spec.bindings()).lists < 1 << 20  # however long they are


def test_a_run_knows_the_sizes_that_its_metrics_name() -> None:
    _, checked = check(PROGRAMS["flattened"].replace("{min: 0, max: 4}", "{values: [1,2,3,0,1]}"))
    session = Session(checked.spec)
    run = session.run(checked.typed, keep=True)
    assert run.measured_sizes(checked.typed) == {"sum(~L)": 7}
    _, checked = check(PROGRAMS["folds"].replace("{min: 0, max: 4}", "{values: [1,2,3,0,1]}"))
    session = Session(checked.spec)
    known = session.run(checked.typed, keep=True).measured_sizes(checked.typed)
    costs = measure(checked.spec, checked.typed, session.bindings, known)
    assert str(costs.off_chip.symbolic) == "4*M + 12*sum(~L)" and costs.off_chip.value == 4 * 5 + 12 * 7
    (result,) = run.outputs[0]
    assert tuple(result.shape) == (7,)


def test_nested_results_are_packed() -> None:
    _, checked = check(PROGRAMS["folds"])
    outputs: Any = Session(checked.spec).run(checked.typed).outputs
    assert [len(part.lists()) for part in outputs[1]] == [5]


def test_useful_flops_leave_out_what_is_filled() -> None:
    text = task(
        "E0: fp32 [~L,M]",
        "S0: fp32 [M] = torch.zeros(5)",
        "A, padding = step.Reshape(S=2, L=[0], pad=0).apply(E0)\n"
        "B = step.Map(fn=fn_twice).apply(step.Promote(b=0).apply(A))\n"  # 10 elements, 7 of them data
        "C = step.Accum(fn=fn_sum, b=1).apply(step.Flatten(L=[1]).apply(B))\n"
        "return step.Map(fn=fn_twice).apply(step.Accum(fn=fn_sum, b=1).apply(C))",
        '{"~L": {values: [1, 2, 3, 0, 1]}}',
    )
    _, checked = check(text)
    session = Session(checked.spec)
    known = session.run(checked.typed, keep=True).measured_sizes(checked.typed)
    costs = measure(checked.spec, checked.typed, session.bindings, known)
    first, second, third, last = (node.flops.value for node in costs.nodes if node.operator in ("Map", "Accum"))
    assert (first, last) == (10, 5) and None not in (second, third)
    assert costs.flops.value is not None and second is not None and third is not None
    assert costs.useful_flops == 7 + second * 7 // 10 + third + 5
    _, plain = check(PROGRAMS["folds"])
    assert measure(plain.spec, plain.typed).useful_flops is None


def test_what_fills_up_is_offered_while_it_is_typed() -> None:
    text = PROGRAMS["filled"]
    at = text.index("pad=0") + len("pad=")
    found = completions(analyze(text[:at] + text[at + 1 :], PATH), at)
    assert [proposal.label for proposal in found] == ["0", "1", "-1", '"-inf"']
