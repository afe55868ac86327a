"""A function that can be computed in several ways becomes the program of the fewest cycles; the others are choices."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from stepagents.cli.cycles import ranked
from stepagents.schedules.choices import fastest
from stepagents.schedules.least import least_cycles
from stepagents.schedules.search import ScheduleOptions, TiledLowering
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS
from test_torchfn_synth import job

PAPER = PRESETS["paper"]
EVERY = "every row is computed for every expert"
SOURCE = """\
import torch


def mixture(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    route = torch.zeros(x.shape[0], 4).scatter(1, index, weight)
    return torch.einsum("te,edf,td->tf", route, w, x)


def best(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    index = torch.topk(x @ wr, 1, dim=-1)[1]
    route = torch.zeros(x.shape[0], 4).scatter(1, index, 1.0)
    return torch.einsum("te,edf,td->tf", route, w, x)


def layer(x, wr, gate, up, down):  # stepsmith: x[T, D], wr[E, D], gate[E, F, D], up[E, F, D], down[E, F, D]
    weight, index = torch.topk(torch.softmax(x @ wr.T, -1), 2)
    route = torch.zeros(x.shape[0], wr.shape[0]).scatter(1, index, weight)
    h = torch.relu(torch.einsum("td,efd->etf", x, gate)) * torch.einsum("td,efd->etf", x, up)
    return torch.einsum("te,etd->td", route, torch.einsum("etf,efd->etd", h, down))


def decode(q, k, v, lengths):  # stepsmith: q[B, 8, D], k[B, L, D], v[B, L, D], lengths[B] int64
    behind = torch.arange(k.shape[1])[None, None] >= lengths[:, None, None]
    return torch.softmax((q @ k.transpose(1, 2)).masked_fill(behind, float("-inf")), -1) @ v


def rectified(q, k, v, lengths):  # stepsmith: q[B, 8, D], k[B, L, D], v[B, L, D], lengths[B] int64
    behind = torch.arange(k.shape[1])[None, None] >= lengths[:, None, None]
    return torch.relu(torch.softmax((q @ k.transpose(1, 2)).masked_fill(behind, float("-inf")), -1) @ v)


def top_gate(x, router):  # stepsmith: x[M, K], router[K, E]
    scores = torch.softmax(x @ router, -1)
    return torch.where(scores == scores.amax(-1, keepdim=True), scores, 0.0)


def product(a, b):  # stepsmith: a[M, K], b[K, N]
    return a @ b


def rows(table, index):  # stepsmith: table[V, D], index[N] int64
    return table[index]
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "ways.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def traced(path: Path, name: str, **sizes: int) -> TracedFunction:
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    return trace(target, completed(target, partly(target, [], sizes)))


def found(path: Path, name: str, **sizes: int) -> TiledLowering:
    return fastest(traced(path, name, **sizes), ScheduleOptions(PAPER))


def numbers(text: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)]


def cycles(lowering: TiledLowering) -> list[int | None]:
    """Return the cycles of the program that is taken, and of the other ways."""
    return [each.cycles for each in (lowering.programs[0], *lowering.others)]


@pytest.mark.parametrize("name", ["mixture", "best"])
def test_few_small_experts_are_not_routed(source: Path, name: str) -> None:
    lowering = found(source, name, T=64, D=256, F=256)
    taken, (routed,) = lowering.programs[0], lowering.others
    assert taken.cycles == time_program(taken.checked, PAPER).cycles
    assert taken.cycles is not None and taken.cycles <= 2319  # 7,811 and 7,815 where rows are routed
    assert "step.Partition(" not in taken.impl and "step.Partition(" in routed.impl
    assert lowering.choice.startswith(f"{EVERY}: ") and numbers(lowering.choice) == cycles(lowering)


def test_experts_that_few_rows_choose_are_routed(source: Path) -> None:
    lowering = found(source, "layer", T=8, D=128, F=128, E=16)
    taken, (every,) = lowering.programs[0], lowering.others
    assert "step.Partition(" in taken.impl and "step.Partition(" not in every.impl
    assert lowering.choice.startswith("routed on drawn rows: ") and numbers(lowering.choice) == cycles(lowering)
    assert (taken.cycles or 0) < (every.cycles or 0)


def test_short_caches_are_read_whole_and_long_ones_as_far_as_they_are_filled(source: Path) -> None:
    lowering = found(source, "decode", B=4, D=64, L=64)
    taken, (filled,) = lowering.programs[0], lowering.others
    assert "step.count" not in taken.impl and "step.count" in filled.impl
    assert numbers(lowering.choice) == cycles(lowering) and (taken.cycles or 0) < (filled.cycles or 0)
    function = traced(source, "decode", B=4, D=128, L=256)
    lowering = fastest(function, ScheduleOptions(PAPER))
    assert "step.count" in lowering.programs[0].impl and not lowering.others  # caches alone take longer to move
    assert numbers(lowering.choice) == [lowering.programs[0].cycles, least_cycles(function, PAPER)]


def test_what_has_no_form_by_lengths_is_computed_whole(source: Path) -> None:
    lowering = found(source, "rectified", B=4, D=8, L=16)
    assert lowering.programs and "step.count" not in lowering.programs[0].impl
    assert lowering.choice.startswith("every row of the caches is computed: line 30: attention over filled caches")


def test_functions_over_blocks_are_taken_where_loop_nests_are_slower(source: Path) -> None:
    lowering = found(source, "top_gate", M=256, K=256, E=256)
    assert lowering.programs[0].schedule.startswith("arrays") and lowering.others[0].schedule.startswith("rows")
    assert cycles(lowering) == numbers(lowering.choice)
    assert (lowering.programs[0].cycles or 0) * 3 < (lowering.others[0].cycles or 0)
    nest = found(source, "product", M=64, K=64, N=64)
    assert nest.programs[0].schedule.startswith("product") and not nest.others and not nest.choice


def test_no_program_takes_fewer_cycles_than_its_tensors_to_move(source: Path) -> None:
    function = traced(source, "product", M=64, K=64, N=64)
    (program, *_) = fastest(function, ScheduleOptions(PAPER)).programs
    assert 0 < least_cycles(function, PAPER) <= (program.cycles or 0)
    assert least_cycles(function, PAPER) == 3 * 64 * 64 * 4 // 1024
    assert least_cycles(traced(source, "rows", V=64, D=64, N=2), PAPER) == 0  # not all of the table is read


def test_a_user_is_shown_the_other_way_with_its_cycles(source: Path) -> None:
    result = job(source, "mixture", emit="tiled", dims={"T": 16, "D": 16, "F": 16})
    taken, *others = result["programs"]
    (routed,) = (each for each in others if each["layout"].startswith("mixture of experts"))
    assert "step.Partition(" in routed["text"] and taken["cycles"] < routed["cycles"]
    (note,) = (each for each in result["notes"] if each.startswith(EVERY))
    assert numbers(note) == [taken["cycles"], routed["cycles"]]


def test_caches_that_are_read_whole_are_verified_on_lengths_within_them(source: Path) -> None:
    taken, *_ = job(source, "decode", emit="tiled", dims={"B": 4, "D": 8, "L": 16})["programs"]
    assert '"lengths": (1, 16)' in taken["text"] and "step.count" not in taken["text"]


def test_what_was_timed_on_data_keeps_its_place_where_nobody_knows_them() -> None:
    told: dict[str, Any] = {"routed": SimpleNamespace(cycles=900), "every": SimpleNamespace(cycles=500)}
    known = {"routed": 400, "every": 500}
    assert [item for item, _ in ranked(["every", "routed"], told.__getitem__, known.get)] == ["routed", "every"]
    assert [item for item, _ in ranked(["every", "routed"], told.__getitem__)] == ["every", "routed"]
