"""Products and chains of sizes that no tile divides: right at these sizes, and near the bound."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepagents.schedules.deliver import delivered
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.search import ScheduleOptions, schedule_points, schedules, written_point
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import Target, find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS
from test_torchfn_synth import job

SOURCE = """\
import torch
import torch.nn.functional as F

def product(a, b):  # stepsmith: a[M, K], b[K, N]
    return a @ b

def linear(x, w, b):  # stepsmith: x[M, K], w[N, K], b[N]
    return F.relu(F.linear(x, w, b))

def swiglu(x, wg, wu, wd):  # stepsmith: x[M, K], wg[K, N], wu[K, N], wd[N, K]
    return (F.silu(x @ wg) * (x @ wu)) @ wd

def attention(q, k, v):  # stepsmith: q[M, K], k[N, K], v[N, K]
    return torch.softmax(q @ k.T / 8.0, -1) @ v

def layer(x, w, b):  # stepsmith: x[B, M, K], w[N, K], b[N]
    return torch.tanh(F.linear(x, w, b))

def twice(x, w):  # stepsmith: x[M, K], w[K, K]
    return (x @ w) @ w + x
"""
PAPER = ScheduleOptions(PRESETS["paper"])


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "functions.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def traced(source: Path, name: str, sizes: dict[str, int]) -> tuple[Target, TracedFunction]:
    target = find_target(str(source), source.read_text(encoding="utf-8"), name)
    return target, trace(target, completed(target, partly(target, [], sizes)))


@pytest.mark.parametrize(
    ("name", "sizes", "most"),
    [
        ("product", {"M": 1009, "K": 1013, "N": 1019}, 1.5),
        ("product", {"M": 1009, "K": 1024, "N": 1024}, 1.5),
        ("swiglu", {"M": 61, "K": 127, "N": 251}, 2.5),
        ("swiglu", {"M": 61, "K": 509, "N": 1021}, 2.3),
    ],
)
def test_products_and_chains_of_prime_sizes_are_near_the_bound(
    source: Path, name: str, sizes: dict[str, int], most: float
) -> None:
    _, function = traced(source, name, sizes)
    program = schedules(function, PAPER).programs[0]
    bound = bound_of(time_program(program.checked, PAPER.chip))
    assert bound is not None and bound.ratio is not None and bound.ratio < most
    assert program.schedule.partition(":")[0] in ("gathered", "cut")
    assert (program.metrics.on_chip.value or 0) <= PAPER.capacity


@pytest.mark.parametrize("name", ["product", "linear", "swiglu", "attention", "twice"])
def test_rows_gathered_on_chip_are_right_whatever_the_sizes(source: Path, name: str) -> None:
    asked = {"M": 37, "K": 41, "N": 43}
    sizes = {symbol: size for symbol, size in asked.items() if name != "twice" or symbol != "N"}
    target, function = traced(source, name, sizes)
    forms: set[str] = set()
    for point in schedule_points(function):
        tall = {"gathered": (10, 5), "cut": (10,)}.get(point.form, ())
        if point.blocks.get("r") not in tall or point.blocks.get("k") == 128:
            continue
        try:
            program = written_point(function, PAPER, point)
        except NoSchedule:
            continue
        lanes = -(-asked["M"] // point.blocks["r"])
        assert f"for i in range({lanes}):" in program.impl and "min(TM, 37 - i * TM)" in program.impl
        file = delivered(function, target, program, source.parent, ".step.py")
        assert not file.fault and sizes in [dict(each) for each in file.verified]
        assert program.least["M"] == 37
        if "k" in point.blocks and name == "product":
            assert "pad=0" in program.impl
        forms.add(point.form)
    assert forms == {"gathered", "cut"}


def test_the_closed_form_knows_what_cut_rows_keep_on_chip(source: Path) -> None:
    _, function = traced(source, "swiglu", {"M": 61, "K": 509, "N": 1021})
    points = [each for each in schedule_points(function) if each.form == "cut" and each.blocks["r"] in (8, 16)]
    assert points
    for point in points:
        program = written_point(function, PAPER, point)
        kept = program.metrics.on_chip.value
        assert kept is not None and abs(program.estimated_bytes / kept - 1) < 0.2


def test_what_stays_far_from_the_bound_says_which_sizes_would_not(source: Path) -> None:
    found = job(source, "linear", emit="tiled", dims={"M": 61, "K": 127, "N": 251})
    (note,) = (note for note in found["notes"] if "of the bound" in note)
    assert note.endswith("as tiles hardly divide M=61, K=127, N=251; they divide M=64, K=128, N=256")
    even = job(source, "linear", emit="tiled", dims={"M": 64, "K": 128, "N": 256})
    assert not any("of the bound" in note for note in even["notes"])


@pytest.mark.parametrize("rows", [(3, 13), (32, 1), (2, 24)])
def test_rows_of_batches_are_those_of_one_matrix(source: Path, rows: tuple[int, int]) -> None:
    sizes = {"B": rows[0], "M": rows[1], "K": 24, "N": 32}
    target, function = traced(source, "layer", sizes)
    (program,) = schedules(function, PAPER).programs
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and sizes in [dict(each) for each in file.verified]
    if program.least:  # rows are gathered: the program is for one number of them
        assert program.multiples["B*M"] == program.least["B*M"] == rows[0] * rows[1]
    else:
        assert rows[0] % program.multiples.get("B", 1) == rows[1] % program.multiples.get("M", 1) == 0


@pytest.mark.parametrize("sizes", [{"B": 2, "M": 64}, {"B": 32, "M": 8}, {"B": 4, "M": 24}])
def test_what_all_batches_share_is_loaded_where_each_lane_is(source: Path, sizes: dict[str, int]) -> None:
    text = "def placed(x, p, w):  # stepsmith: x[B, M, K], p[M, K], w[N, K]\n    return F.linear(x + p, w)\n"
    source.write_text(SOURCE + text, encoding="utf-8")
    target, function = traced(source, "placed", {**sizes, "K": 16, "N": 16})
    tried: set[bool] = set()
    for point in schedule_points(function):
        if point.form != "product" or not point.is_merged:
            continue
        lanes = {lane.label: lane.count for lane in point.lanes}["r"]
        has_own = lanes > sizes["B"]  # else each lane has whole batches
        try:
            program = written_point(function, PAPER, point)
        except NoSchedule:
            continue
        assert ("base=(i" in program.impl) == has_own
        if has_own not in tried:
            assert not delivered(function, target, program, source.parent, ".step.py").fault
            tried.add(has_own)
    assert tried == {False, True}


def test_what_may_lie_along_either_of_two_dimensions_follows_its_indices(source: Path) -> None:
    text = "def placed(x, p, w):  # stepsmith: x[M, M, K], p[M, K], w[N, K]\n    return F.linear(x + p, w)\n"
    source.write_text(SOURCE + text, encoding="utf-8")
    found = job(source, "placed", emit="tiled", dims={"M": 16, "K": 16, "N": 16})
    assert found["solved"] and found["programs"][0]["layout"].startswith("arrays")
