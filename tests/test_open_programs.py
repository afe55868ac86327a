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


def test_a_buffer_holds_lists_of_one_length_in_a_run() -> None:
    ((values,),) = run_library(check(LISTS)[1])[-1:]
    assert values.shape == (2, 2)
    with pytest.raises(SimError, match="buffers of a stream are of one size") as caught:
        run_library(check(LISTS.replace("[2, 2]", "[2, 1]"))[1])
    assert caught.value.code == "STEP412"
