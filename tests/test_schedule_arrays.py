"""Programs over blocks of any number of dimensions: right by the judge and by the slow interpreter."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch

from oracle.streams import dense
from oracle.tasks import run_streams
from stepagents.schedules.deliver import delivered
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepagents.schedules.ranking import Ranking, TimedPoint
from stepagents.schedules.search import ScheduleOptions, last_points, schedules, written_point
from stepcore.cycles.timed import time_program
from stepcore.sim.functional import Session
from stepcore.timing.hardware import PRESETS
from stepcore.types import Scalar
from test_schedules import drawn, oracle_task, traced

SOURCE = """\
import torch
import torch.nn.functional as F


def grouped_queries(q, k, v):  # stepsmith: q[B, 6, M, K], k[B, 2, N, K], v[B, 2, N, K]
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def tiled_heads(x, y):  # stepsmith: x[B, 6, M, N], y[B, 2, M, N]
    return x * y.repeat(1, 3, 1, 1)


def swapped_heads(x):  # stepsmith: x[B, M, 4*K]
    b, m, d = x.shape
    return torch.sigmoid(x.view(b, m, 4, d // 4).transpose(1, 2))


def joined_heads(x):  # stepsmith: x[B, 4, M, K]
    return x.transpose(1, 2).flatten(2) * 2


def grouped_channels(x, w, c):  # stepsmith: x[B, 6, M, N], w[6], c[6]
    return F.relu(F.group_norm(x, 3, w, c))


def normed_batch(x, w):  # stepsmith: x[B, K, M], w[K]
    return F.batch_norm(x, None, None, w, training=True)


def normed_layers(x, w):  # stepsmith: x[B, K, M, 4], w[M, 4]
    return F.layer_norm(x, x.shape[2:], w)


def looked_up(ids, table, x):  # stepsmith: ids[M] int64, table[N, K], x[M, K]
    return torch.tanh(F.embedding(ids, table)) + x


def summed_rows(ids, table):  # stepsmith: ids[B, M] int64, table[N, K]
    return F.embedding(ids, table).mean(1)


def picked(ids, x):  # stepsmith: ids[B, M] int64, x[N]
    return x[ids] * 2


def at_the_best(x, table):  # stepsmith: x[M, N], table[N, K]
    return table[x.argmax(-1)] * 0.5


def largest_in_windows(x):  # stepsmith: x[B, K, 2*M, 2*N]
    return F.max_pool2d(x, 3, stride=2, padding=1) + 1


def mean_in_windows(x):  # stepsmith: x[B, K, 2*N]
    return F.avg_pool1d(x, 4, stride=2)


def transposed(x, w, c):  # stepsmith: x[B, K, N], w[K, M, 5], c[M]
    return F.conv_transpose1d(x, w, c, stride=2, padding=1)


def transposed_planes(x, w):  # stepsmith: x[B, K, M, N], w[K, 2*K, 3, 2]
    return F.conv_transpose2d(torch.relu(x), w, stride=(2, 1), output_padding=(1, 0))


def convolved_and_pooled(x, w, c):  # stepsmith: x[B, K, 2*M, 2*N], w[2*K, K, 3, 3], c[2*K]
    return F.max_pool2d(torch.relu(F.conv2d(x, w, c, padding=1)), 2)


def best(x):  # stepsmith: x[M, N]
    return x.argmax(-1)


def gate(x):  # stepsmith: x[M, N]
    values, places = x.topk(2, dim=-1)
    return torch.zeros_like(x).scatter(-1, places, torch.softmax(values, -1))


def mixed(x, router, experts):  # stepsmith: x[M, K], router[K, B], experts[B, K, N]
    weights = torch.softmax(x @ router, dim=-1)
    return torch.einsum("me,mk,ekn->mn", weights, x, experts)


def across(x, y):  # stepsmith: x[B, K, M], y[K, M]
    top = x.max(1).values[:, None] - y.cumsum(0).min(0).values
    return torch.cat([x[:, 1:], top], 1).flip(1).var(2, keepdim=True) * x.norm(dim=2, keepdim=True)


def of_one(x):  # stepsmith: x[B, K, M]
    return x[:, 0] + x[:, -1]


def sorted_rows(x):  # stepsmith: x[M, N]
    return torch.sort(x * 2, -1).values
"""
FAMILIES = (
    "grouped_queries", "tiled_heads", "swapped_heads", "joined_heads", "grouped_channels", "normed_batch",
    "normed_layers", "looked_up", "summed_rows", "picked", "at_the_best", "largest_in_windows",
    "mean_in_windows", "transposed", "transposed_planes", "convolved_and_pooled", "best", "gate", "mixed", "of_one",
)  # fmt: skip
PAPER = PRESETS["paper"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "functions.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def is_right(program: Tiled) -> None:
    wanted = [tensor for stream in run_streams(oracle_task(stored(program)))[1] for tensor in dense(stream)]
    found = Session(drawn(program)).run(program.checked.typed).outputs
    for (tensor,), expected in zip(found, wanted, strict=True):
        torch.testing.assert_close(tensor, expected, rtol=1e-4, atol=1e-5)


def stored(program: Tiled) -> Tiled:
    """Return a program whose result is drawn if it is of whole numbers: the slow interpreter has no default there."""
    ports = tuple(
        replace(port, maximum=0) if port.written and port.type.element != Scalar("fp32") else port
        for port in program.spec.parameters
    )
    return replace(program, spec=replace(program.spec, parameters=ports))


@pytest.mark.parametrize("name", FAMILIES)
def test_random_sizes_of_each_family_are_right(source: Path, name: str) -> None:
    random = Random(name)
    sizes = {symbol: random.choice([4, 6, 8, 12]) for symbol in "MKN"} | {"B": random.choice([2, 3, 4])}
    target, function = traced(source, name, sizes)
    found = schedules(function, ScheduleOptions(PAPER, wanted=3)).programs
    assert found and found[0].schedule.startswith(("arrays", "tables"))
    file = delivered(function, target, found[0], source.parent, ".step.py")
    assert not file.fault and file.is_whole
    for program in found:
        is_right(program)


@pytest.mark.parametrize("name", [*FAMILIES, "across"])
def test_random_points_of_the_space_are_right(source: Path, name: str) -> None:
    random = Random(f"points of {name}")
    sizes = {symbol: random.choice([4, 6, 8]) for symbol in "MKN"} | {"B": random.choice([2, 3, 4])}
    _, function = traced(source, name, sizes)
    points = last_points(function)
    tried = 0
    for point in random.sample(points, len(points)):
        try:
            program = written_point(function, ScheduleOptions(PAPER), point)
        except NoSchedule:
            continue
        is_right(program)
        tried += 1
        if tried == 6:
            break
    assert tried


@pytest.mark.parametrize("name", ["looked_up", "summed_rows", "picked", "at_the_best"])
def test_tables_on_chip_are_right(source: Path, name: str) -> None:
    random = Random(f"tables of {name}")
    sizes = {symbol: random.choice([8, 12, 16]) for symbol in "MKN"} | {"B": 8}
    _, function = traced(source, name, sizes)
    points = [point for point in last_points(function) if point.form == "tables"]
    assert name == "picked" or any(len(point.blocks) > 1 for point in points)
    tried = 0
    for point in sorted(points, key=lambda each: (-len(each.blocks), random.random())):
        try:
            program = written_point(function, ScheduleOptions(PAPER), point)
        except NoSchedule:
            continue
        assert "RandomOffChipLoad" not in program.impl
        is_right(program)
        tried += 1
        if tried == 8:
            break
    assert tried


def test_a_table_that_is_read_often_is_kept_on_chip(source: Path) -> None:
    target, function = traced(source, "summed_rows", {"B": 64, "M": 64, "N": 64, "K": 64})
    program, *_ = schedules(function, ScheduleOptions(PAPER)).programs
    assert program.schedule.startswith("tables")
    points = [point for point in last_points(function) if point.form == "arrays" and not point.blocks]
    rows = [point for point in points if {lane.label for lane in point.lanes} == {"d0"}]
    others = [written_point(function, ScheduleOptions(PAPER), point) for point in rows]
    assert others and all(time_program(each.checked, PAPER).off_chip_bytes > 16 * 4 * 64 * 64 for each in others)
    assert time_program(program.checked, PAPER).off_chip_bytes < 8 * 4 * 64 * 64
    assert not delivered(function, target, program, source.parent, ".step.py").fault


def test_a_program_that_is_refused_is_left_out(source: Path) -> None:
    _, function = traced(source, "best", {"M": 8, "N": 8})
    (right,) = schedules(function, ScheduleOptions(PAPER)).programs
    wrong = replace(right, impl=right.impl.replace("shape=[", "shape=[0 * ", 1))
    ranking: Ranking[str] = Ranking(PAPER, 1 << 24, lambda _point: wrong, lambda _point, _program: 1)
    items = [TimedPoint("wrong", wrong, 1, 1), TimedPoint("right", right, 2, 2)]
    assert [each.point for each in ranking.timed(items, "exact")] == ["right"]
    assert "a program that was written is refused" in ranking.problems[0]
