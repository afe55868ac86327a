"""Programs beside the fastest one: exact cycles and bytes on chip of which none is worse in both, all verified."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepagents.schedules.front import front, spread
from stepagents.schedules.search import ScheduleOptions, schedules
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS
from test_torchfn_synth import accepted

SOURCE = """\
import torch

def gated(x, w, v):  # stepsmith: x[M, K], w[K, N], v[N, K]
    return torch.relu(x @ w) @ v

def softmax(x):  # stepsmith: x[M, N]
    return torch.softmax(x, -1)
"""
PAPER = PRESETS["paper"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "functions.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def test_a_front_has_no_item_that_another_beats() -> None:
    random = Random(5)
    for _ in range(200):
        items = [(random.randint(1, 30), random.randint(1, 30)) for _ in range(random.randint(1, 40))]
        found = front(items, lambda item: item[0], lambda item: item[1])
        beaten = {one for one in items for other in items if other != one and other[0] <= one[0] and other[1] <= one[1]}
        assert found == sorted(set(items) - beaten)


def test_chosen_items_lie_factors_apart_and_end_with_the_least() -> None:
    items = [1024, 1000, 500, 260, 250, 60, 16, 15, 2, 1]
    assert spread(items, 2, lambda each: each) == [60, 1]
    assert spread(items, 20, lambda each: each) == items[1:]
    assert spread([7], 3, lambda each: each) == []
    assert spread(items, 0, lambda each: each) == []


@pytest.mark.parametrize(("name", "sizes"), [("gated", {"M": 64, "K": 64, "N": 128}), ("softmax", {"M": 128, "N": 64})])
def test_programs_beside_the_fastest_take_fewer_bytes_and_exact_cycles(
    source: Path, name: str, sizes: dict[str, int]
) -> None:
    target = find_target(str(source), SOURCE, name)
    asked = {symbol: sizes[symbol] for symbol in sizes}
    found = schedules(trace(target, completed(target, partly(target, [], asked))), ScheduleOptions(PAPER, smaller=3))
    programs = [found.programs[0], *found.smaller]
    assert 2 < len(programs) <= 4
    points = [(program.cycles or 0, program.metrics.on_chip.value or 0) for program in programs]
    assert all(one[0] <= two[0] and one[1] > two[1] for one, two in pairwise(points))
    assert [time_program(program.checked, PAPER).cycles for program in programs] == [cycles for cycles, _ in points]


def test_all_are_verified_and_shown(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = FunctionOptions(emit="tiled", dims={"M": 32, "N": 32, "K": 32})
    assert run_functions([f"{source}::gated"], replace(options, as_json=True)) == 0
    (row,) = json.loads(capsys.readouterr().out)
    programs = row["programs"]
    assert len(programs) > 1 and programs[0]["program"] == row["program"]
    kept, cycles = ([each[key] for each in programs] for key in ("on_chip_bytes", "traffic_ratio"))
    assert kept == sorted(kept, reverse=True) and all(cycles)
    timed = [each["timing"]["cycles"] for each in programs]
    assert timed == sorted(timed)
    assert all(accepted(tmp_path, f"gated{number}.step.py", each["program"]) for number, each in enumerate(programs))
    assert run_functions([f"{source}::gated"], replace(options, explain=True)) == 0
    shown = capsys.readouterr()
    assert all(f"program {number}: " in shown.out for number in range(1, len(programs) + 1))
    assert f"{len(programs) - 1} more with fewer bytes on chip" in shown.err


def test_a_tight_capacity_is_used_although_the_closed_form_prefers_what_does_not_fit() -> None:
    target = find_target("functions.py", SOURCE, "gated")
    traced = trace(target, completed(target, partly(target, [], {"M": 16, "K": 32, "N": 32})))
    for capacity in (50_000, 40_000, 30_000):
        (found,) = schedules(traced, ScheduleOptions(PAPER, capacity)).programs
        kept = found.metrics.on_chip.value
        assert kept is not None
        assert kept <= capacity
    none = schedules(traced, ScheduleOptions(PAPER, 512))
    assert not none.programs
    assert "bytes on chip or more, and there are 512" in none.reason
