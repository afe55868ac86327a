"""Random programs with dynamic and ragged sizes: sizes are real, interpreters agree, texts read back."""

from __future__ import annotations

from random import Random

import pytest
import torch
from ruamel.yaml import YAML

from oracle import OracleError, OracleTask, run_streams
from programs.open_sizes import generate
from programs.running import assert_same_lengths, assert_same_values, check, errors, run_library
from stepcore.conversion.to_python import task_to_python
from stepcore.findings.errors import SimError
from stepcore.frontend.yaml.tasks import read_task
from stepcore.printing.task import canonical_key, graph_to_impl
from stepcore.sim.functional import Session
from stepcore.sim.lengths import levels_of
from stepcore.sim.nested import values_of


def agree(seed: int, steps: int = 10) -> bool:
    """One program: return whether it runs; where the data break a rule (STEP412), both interpreters have to say so."""
    text, _ = generate(Random(seed), steps)
    found, checked = check(text)
    assert errors(found.diagnostics) == [], f"{errors(found.diagnostics)}\n{text}"
    head, _, _ = text.partition("impl: |-\n")
    impl = graph_to_impl(checked.graph).replace("\n", "\n  ")
    key = canonical_key(checked.graph)
    for other in (f"{head}impl: |-\n  {impl}\n", task_to_python(read_task(text, "open.step.yaml"))):
        path = "open.py" if "import stepcore" in other else "open.step.yaml"
        again, read = check(other, path)
        assert errors(again.diagnostics) == [], other
        assert canonical_key(read.graph) == key, other
    try:
        consumed, returned = run_streams(
            OracleTask("open", YAML(typ="safe", pure=True).load(text)), dtype=torch.float64
        )
    except OracleError:
        with pytest.raises(SimError):
            run_library(checked)
        return False
    assert_same_values(run_library(checked), [*consumed, *returned])
    assert_same_lengths(checked, [*consumed, *returned])
    return True


@pytest.mark.parametrize("first", range(0, 12, 4))
def test_inferred_sizes_are_those_of_a_run(first: int) -> None:
    assert sum(agree(seed) for seed in range(first, first + 4)) >= 2


LISTS = """\
test_name: lists
sizes: {"~L": {values: [2, 2]}}
inputs:
- {name: E0, dtype: fp32, dims: ["~L", N], data_gen: torch.randn}
global: |
  N_value = 2
  ctx[N] = N_value
outputs:
- {name: S0, dtype: fp32, dims: ["~A", "?B"]}
impl: |-
  return step.Streamify().apply(step.Bufferize(a=1).apply(E0))
"""


BUFFERS = (
    LISTS.replace('- {name: S0, dtype: fp32, dims: ["~A", "?B"]}', """\
- {name: S0, dtype: fp32, dims: ["~A", "~B", "?C"]}
- {name: S1, dtype: fp32, dims: ["~D", 2, "?C"]}""").partition("  return")[0]
    + """\
  E1, E2 = step.Copy().apply(E0)
  held, more = step.Copy().apply(step.Bufferize(a=1).apply(E1))
  lanes, lane_of = step.Parallelize(N=2).apply(more)
  back = step.Flatten(L=[1]).apply(step.Reassemble(onehot=True).apply((lanes, lane_of)))
  return step.Streamify().apply((held, E2)), step.Streamify().apply(step.Repeat(n=2).apply(back))
"""
)  # fmt: skip


@pytest.mark.parametrize("text", [LISTS, BUFFERS])
@pytest.mark.parametrize("given", ["[2, 2]", "[2, 1]", "[0, 3]", "[0, 0]"])
def test_buffers_hold_lists_that_differ_in_length(text: str, given: str) -> None:
    """Read out, by a reference too, copied, repeated and dealt out they are the lists that they were made of."""
    text = text.replace("values: [2, 2]", f"values: {given}")
    consumed, returned = run_streams(OracleTask("lists", YAML(typ="safe", pure=True).load(text)), dtype=torch.float64)
    checked = check(text)[1]
    assert errors(checked.diagnostics) == []
    run = Session(checked.spec, dtype=torch.float64).run(checked.typed, keep=True)
    found = [[values_of(part) for part in run.streams[use.stream].dense()] for use in checked.uses]
    assert_same_values(found, [*consumed, *returned])
    assert [levels_of(run.streams[use.stream].sizes) for use in checked.uses] == [
        stream.sizes for stream in (*consumed, *returned)
    ]


def test_functions_take_buffers_of_one_size_only() -> None:
    zipped = LISTS.replace('dtype: fp32, dims: ["~A", "?B"]', 'dtype: ["Buffer(fp32, [~A])", fp32], dims: ["?B"]')
    zipped = zipped.partition("  return")[0] + (
        "  E1, E2 = step.Copy().apply(E0)\n"
        "  rows = step.Accum(fn=total, b=1).apply(E2)\n"
        "  return step.Zip().apply((step.Bufferize(a=1).apply(E1), rows))\n"
    )
    total = 'fns:\n- {func_name: total, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0]]"}\n'
    found, checked = check(zipped.replace("outputs:", f"{total}outputs:"))
    assert errors(found.diagnostics) == []
    with pytest.raises(SimError, match="differ in size, so only Streamify reads them") as caught:
        Session(checked.spec).run(checked.typed)
    assert caught.value.code == "STEP412"


def test_routed_buffers_that_differ_in_size_name_what_a_branch_gets() -> None:
    checked = check(BUFFERS)[1]
    (dealt,) = [node for node in checked.typed.nodes if node.written == "Parallelize"]
    lane = checked.typed.streams[dealt.outputs[1]].type
    assert str(lane) == "[#(lane_of, 1)] of Buffer(fp32, [~L@(lane_of, 1)])"
    (joined,) = [node for node in checked.typed.nodes if node.written == "Reassemble"]
    assert str(checked.typed.streams[joined.outputs[0]].type) == "[1, N] of Buffer(fp32, [~L])"
