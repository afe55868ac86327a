"""Pieces of the search: what is recorded of a reference, how values are compared, how costs change."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from agent_tasks import TASKS2, TASKS3, load, named
from benchmarks.candidates import candidates
from benchmarks.search_runs import halves, task_files
from oracle import load_task, run_task
from stepagents.judge import Judge, Stage
from stepagents.search.anchors import moments, same
from stepagents.search.costs import CostModel
from stepagents.search.earned import Earned
from stepagents.search.fibers import Fibers
from stepagents.search.items import SearchStep, SearchStream
from stepagents.search.recorder import intermediates
from stepagents.search.sizes import small_sizes
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.data import TensorData
from stepcore.sim.world import World
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Scalar, StreamType


def world_of(text: str) -> World:
    task = read_task(text, "small.step.yaml")
    assert task.spec is not None
    return next(small_sizes(task.spec)).world(1)


def reference(body: str, dims: str = "[M, N]") -> World:
    return world_of(
        "inputs:\n"
        "- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}\n"
        "- {name: E1, dtype: fp32, dims: [N], data_gen: torch.randn}\n"
        f"outputs:\n- name: S0\n  dtype: fp32\n  dims: {dims}\n  data_transform:\n  - |\n    "
        + body.replace("\n", "\n    ")
        + "\n"
    )


def holds(found: list[torch.Tensor], wanted: torch.Tensor) -> bool:
    return any(t.shape == wanted.shape and torch.allclose(t, wanted.double()) for t in found)


def test_what_a_loop_computes_is_recorded_as_one_tensor() -> None:
    world = reference(
        "x = input_data['E0']\nh, out = torch.zeros(N_value, dtype=x.dtype), []\n"
        "for t in range(M_value):\n    h = 0.5 * h + x[:, t]\n    out.append(torch.tanh(h))\ntorch.stack(out, dim=1)"
    )
    x = world.inputs[0].dense()[0].double()
    states = [x[:, 0]]
    for t in range(1, x.shape[1]):
        states.append(0.5 * states[-1] + x[:, t])
    assert holds(intermediates(world), torch.stack(states, dim=1))


def test_pieces_of_a_concatenation_are_recorded() -> None:
    world = reference("torch.cat([input_data['E1'].unsqueeze(-1), input_data['E0']], dim=-1).exp().sum(-1)", "[N]")
    found = intermediates(world)
    assert holds(found, world.inputs[0].dense()[0].double().exp())


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("torch.nn.functional.group_norm(input_data['E0'], 1)", lambda x: x.mean(1, keepdim=True)),
        ("torch.softmax(input_data['E0'], dim=-1)", lambda x: torch.log_softmax(x, dim=-1)),
        ("input_data['E0'] / input_data['E0'].norm(3, dim=-1, keepdim=True)", lambda x: (x.abs() ** 3).sum(-1, True)),
    ],
)
def test_kernels_are_taken_apart(body: str, wanted: object) -> None:
    world = reference(body)
    value = wanted(world.inputs[0].dense()[0].double())  # type: ignore[operator]
    assert any(t.numel() == value.numel() and torch.allclose(t.reshape(value.shape), value)
               for t in intermediates(world))  # fmt: skip


@pytest.mark.parametrize("size", [1e60, 1e200, 1e308])
def test_sums_of_powers_of_huge_numbers_are_finite(size: float) -> None:
    values = moments(np.array([size, -1.0, 2.0]))
    assert all(math.isfinite(value) for value in values)
    assert same([values], [moments(np.array([2.0, size, -1.0]))])
    assert not same([values], [moments(np.array([1.0, -1.0, 2.0]))])


def test_rows_are_found_wherever_the_reference_has_them() -> None:
    draw = torch.Generator().manual_seed(0)
    anchor = torch.randn(4, 6, 3, generator=draw, dtype=torch.float64)  # tokens, features, experts
    other = torch.randn(4, 6, 3, generator=draw, dtype=torch.float64)
    rows = anchor[[0, 2], :, 1]
    fibers, row = Fibers([[other], [anchor]]), Buffer(Scalar(), (Dim.of(6),))
    assert fibers.holder([TensorData((2,), row, (rows,))], 0) == 1
    assert fibers.holder([TensorData((2,), row, (rows + 1e-3,))], 0) is None
    assert fibers.holder([TensorData((0,), row, (rows[:0],))], 0) is None


def test_derived_costs() -> None:
    model = CostModel()
    assert model.without("Partition")("Partition") == math.inf
    assert model.flat()("Promote") == 1.0
    assert model.without("Promote").flat()("Promote") == math.inf
    assert model("Map") < model.tempered(0.5)("Map") < model.tempered(0.5)("Promote") < model("Promote")
    assert model.strict(2.0)("no anchor") == 2.0 * model("no anchor")


def test_moves_that_paid_become_cheaper_in_the_same_search() -> None:
    kind, model = StreamType(Scalar(), ()), CostModel().flat()
    source = SearchStream(0, kind, [], None, 0, 0.0, anchored=True)
    good = SearchStream(1, kind, [], SearchStep((), (source,), "Scan"), 0, 0.0, move="Scan", anchored=True)
    earned, still = Earned(model, on=True), Earned(model, on=False)
    for _ in range(5):
        earned.note(good)
        still.note(good)
    assert earned.corrected("Scan", 1.0) < 1.0 < earned.corrected("Promote", 1.0)
    assert still.corrected("Scan", 1.0) == 1.0


OWN = [path for folder in (TASKS2, TASKS3) for path in sorted(folder.glob("*.step.yaml"))]


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name.split(".")[0])
def test_our_own_tasks_verify_strictly(path: Path) -> None:
    for seed in (42, 7):
        result = run_task(load_task(path), seed=seed, dtype=torch.float64)
        assert result.shape_ok
        assert result.matches, result.max_error
        assert result.affine
    assert load(path).impl is not None


def test_the_readme_splits_the_second_set_in_halves() -> None:
    parts = halves()
    assert {len(part) for part in parts.values()} == {15}
    assert sorted(path for part in parts.values() for path in part) == task_files("tasks2")


def test_candidates_for_the_judge_are_of_both_kinds_and_distinct() -> None:
    task = named("norm_rms_scalars")
    rejected, passed = candidates(task, 8)
    judge = Judge(task)
    assert len(passed) == len(set(passed)) >= 5
    stages = [judge.judge_program(text).stage for text in passed]
    assert set(stages) <= {Stage.ACCEPTED, Stage.VALUES, Stage.FRESH, Stage.RUN}
    assert all(judge.judge_program(text).stage not in {Stage.ACCEPTED, Stage.VALUES} for text in rejected)
