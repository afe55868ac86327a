"""Programs that route: selectors of a run, drawn ones, and every branch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.cycles.network_of import network_of
from stepcore.cycles.program_network import NotTimed, ProgramNetwork
from stepcore.cycles.routes import ProgramRoutes, Rows, routes_without_run, selectors_of
from stepcore.timing.hardware import PRESETS
from timing_programs import assert_literal, drawn_program, routes_of_run

TASKS = Path(__file__).parents[1] / "benchmarks" / "tasks"
ROUTED = """\
inputs:
- {name: E0, dtype: fp32, dims: [K, M], data_gen: torch.randn}
- {name: E1, dtype: "Multihot(fp32, 3)", dims: [M], min: 0, max: 2}
fns:
- {name: Add, func_name: fn_add, init: [0], input_dtype: fp32,
   output_dtype: fp32, apply: "return [state[0] + input[0]]"}
outputs:
- {name: S0, dtype: fp32, dims: [K, M], data_transform: ["return [input_data['E0']]"]}
impl: |
  E2, E3 = step.Copy().apply(E1)
  E4 = step.Partition(N=3).apply((E0, E2))
  return step.Merge(fn=fn_add).apply((E4, E3))
"""
SIZES = {"K": 2, "M": 6}


def program(text: str = ROUTED) -> Checked:
    (checked,) = check_text(text, "t.step.yaml").programs
    return checked


def routed(rows: Rows | None) -> ProgramNetwork:
    checked = program()
    routes = None if rows is None else ProgramRoutes("run", dict.fromkeys(selectors_of(checked.typed), rows))
    return network_of(checked.spec, checked.typed, SIZES, PRESETS["default"], routes)


def tokens(made: ProgramNetwork) -> dict[str, int]:
    return {use.name: use.put for use in assert_literal(made.network).channels}


def test_each_branch_gets_the_chunks_that_its_selectors_name() -> None:
    made = routed([(0,), (0, 2), (), (2,), (0,), (0,)])
    assert made.routes == "run"
    found = tokens(made)
    assert [found[f"E4[{branch}]"] for branch in range(3)] == [2 * 4, 0, 2 * 2]


def test_selectors_that_are_inputs_are_drawn_the_same_each_time() -> None:
    made, again = routed(None), routed(None)
    assert made.routes == "drawn"
    assert made.network == again.network
    found = tokens(made)
    assert 0 < sum(found[f"E4[{branch}]"] for branch in range(3)) <= 2 * 2 * SIZES["M"]
    checked = program()
    (rows, same) = routes_without_run(checked.spec, checked.typed, SIZES).rows.values()
    assert rows == same
    assert {len(row) for row in rows} <= {0, 1, 2}
    assert {branch for row in rows for branch in row} <= {0, 1, 2}


@pytest.mark.parametrize(("how", "rows"), [("binary", None), ("torch.ones", (0, 1, 2)), ("torch.zeros", ())])
def test_data_are_drawn_as_the_task_says(how: str, rows: tuple[int, ...] | None) -> None:
    checked = program()
    first, selector = checked.spec.inputs
    spec = replace(checked.spec, inputs=(first, replace(selector, data_gen=how)))
    drawn, _ = routes_without_run(spec, checked.typed, {"K": 2, "M": 40}).rows.values()
    if rows is not None:
        assert set(drawn) == {rows}
    else:
        assert 2 < len(set(drawn)) <= 8


def test_selectors_that_are_computed_or_long_take_every_branch() -> None:
    text = (TASKS / "etoe_top1_of_3.step.yaml").read_text(encoding="utf-8")
    (checked,) = check_text(text, "t.step.yaml").programs
    assert routes_without_run(checked.spec, checked.typed, checked.spec.bindings()) == ProgramRoutes("every")
    checked = program()
    assert routes_without_run(checked.spec, checked.typed, {"K": 2, "M": 10**12}) == ProgramRoutes("every")
    long = network_of(checked.spec, checked.typed, {"K": 2, "M": 10**12}, PRESETS["default"])
    assert long.routes == "every"


def test_a_program_without_selectors_has_no_routes() -> None:
    text = (TASKS / "attention_single_accum.step.yaml").read_text(encoding="utf-8")
    (checked,) = check_text(text, "t.step.yaml").programs
    assert routes_without_run(checked.spec, checked.typed, checked.spec.bindings()) == ProgramRoutes("none")


@pytest.mark.parametrize("rows", [[(0,)] * 5, [(3,)] * 6])
def test_routes_of_something_else_are_refused(rows: Rows) -> None:
    with pytest.raises(NotTimed):
        routed(rows)
    checked = program()
    with pytest.raises(NotTimed, match="not known where Partition routes to"):
        network_of(checked.spec, checked.typed, SIZES, PRESETS["default"], ProgramRoutes("run", {}))


@pytest.mark.parametrize("path", sorted(TASKS.glob("e*.step.yaml")), ids=lambda path: path.name.partition(".")[0])
def test_published_tasks_with_the_selectors_of_a_run(path: Path) -> None:
    (checked,) = check_text(path.read_text(encoding="utf-8"), str(path)).programs
    routes = routes_of_run(checked)
    made = network_of(checked.spec, checked.typed, checked.spec.bindings(), PRESETS["default"], routes)
    assert not assert_literal(made.network).waiting


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_with_the_selectors_of_a_run(seed: int) -> None:
    """A sample of the campaign ``programs`` of ``make soak``."""
    assert_literal(drawn_program(seed, runs=True).network)


SUMMED = """\
sizes: {"~L": {min: 0, max: 4}}
inputs:
- {name: E0, dtype: fp32, dims: ["~L", M], data_gen: torch.randn}
- {name: E1, dtype: "Multihot(fp32, 2)", dims: [M], min: 0, max: 2}
outputs:
- {name: S0, dtype: fp32, dims: ["~Q", M], data_transform: ["return input_data['E0']"]}
impl: |
  E2, E3 = step.Copy(depth=8).apply(E1)
  E4 = step.Partition(N=2, depth=64).apply((E0, E2))
  return step.Flatten(L=[1]).apply(step.Reassemble().apply((E4, E3)))
"""


def test_lists_that_become_one_are_as_long_as_those_that_are_gathered() -> None:
    """Without a run selectors tell how many lists there are, and each is as long as it can be."""
    checked = program(SUMMED)
    assert checked.runnable, "it is typed"
    found = network_of(checked.spec, checked.typed, {**SIZES, "~L": 4}, PRESETS["default"])
    assert not assert_literal(found.network).waiting
