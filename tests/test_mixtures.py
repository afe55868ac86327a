"""Mixtures of experts with static and dynamic tiles, at small sizes: right, timed, and their padding."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import geometric_mean

import pytest
import torch

from benchmarks.decoding import POLICIES, checked_decode, dealt_tiles, lengths_trace, traced_decode
from benchmarks.mixtures import MixtureSizes, checked_mixture, mixture_text, product_share
from benchmarks.suites import fronts
from benchmarks.suites.check import generation2_file
from benchmarks.suites.fronts import Point, distance, relations
from benchmarks.suites.values import ValuedProgram, measured
from stepagents.schedules.routed.trace import routes_of, routing_trace
from stepcore.check.files import check_text
from stepcore.cycles.network_of import network_of
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS
from test_examples import load, programs
from timing_programs import assert_literal, routes_of_run

SIZES = MixtureSizes(batch=16, experts=4, hidden=64, inner=128, columns=16, scalar="fp32")
PADDED = """\
from typing import Annotated

import step
from step.dims import M, N


@step.program(dims={M: 10, N: 3})
def rows(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (4, (M + 3) // 4, N)]:
    data, padding = step.Reshape(S=4, L=[0], pad=0).apply(E0)
    return data
""".replace("import step\nfrom step.dims", "import stepcore as step\nfrom stepcore.dims")

WEIGHTED = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.Tile("fp32", [1, 1]), output=step.Tile("fp32", [1, 1]), init=[0])
def add(state, input):
    return [input[0] + state[0]]


def reference(w):
    return w.sum(0).reshape(-1, 1, 1)


@step.program(reference=reference, dims={M: 2, N: 3})
def sums(*, w: Annotated[step.Param, step.f32, (N, M)]) -> Annotated[step.Stream, step.Tile("fp32", [1, 1]), (N,)]:
    tiles = step.LinearOffChipLoad(tensor=w, tile=[1, 1], shape=[M, N], stride=[N, 1]).apply()
    return step.Accum(fn=add, b=1).apply(tiles)
"""


def test_traces_choose_so_many_experts_and_skew_prefers_some() -> None:
    even, skewed = (routing_trace(2000, 8, 2, skew=skew, seed=3) for skew in (0.0, 1.0))
    for trace in (even, skewed):
        assert all(len(set(row)) == 2 and row == tuple(sorted(row)) and 0 <= row[0] <= row[1] < 8 for row in trace)
    loads = [sorted(sum(e in row for row in trace) for e in range(8)) for trace in (even, skewed)]
    assert loads[0][0] > 400 and loads[0][-1] < 600
    assert loads[1][-1] > 4 * loads[1][0]
    assert routing_trace(50, 8, 2, skew=1.0, seed=3) == routing_trace(50, 8, 2, skew=1.0, seed=3)


def test_dynamic_tiles_read_weights_once_and_take_fewer_cycles() -> None:
    trace = routing_trace(SIZES.batch, SIZES.experts, 2, skew=0.5, seed=0)
    timed = {}
    for tile in (4, 0):
        checked = checked_mixture(SIZES, tile)
        timed[tile] = time_program(
            checked, PRESETS["paper"], routes=routes_of(checked.typed, trace, SIZES.experts, tile)
        )
    counts = [sum(expert in row for row in trace) for expert in range(SIZES.experts)]
    weights = 3 * SIZES.hidden * SIZES.inner * 4
    fewer = sum(-(-count // 4) - (count > 0) for count in counts)
    assert fewer > 0
    assert timed[4].off_chip_bytes - timed[0].off_chip_bytes == fewer * weights
    assert timed[4].cycles is not None and timed[0].cycles is not None and timed[0].cycles < timed[4].cycles


def test_routes_of_a_trace_are_those_of_a_run_and_padding_takes_a_literal_engines_cycles() -> None:
    small = MixtureSizes(batch=6, experts=3, hidden=4, inner=8, columns=4, scalar="fp32")
    for tile in (2, 0):
        checked = checked_mixture(small, tile)
        ran = routes_of_run(checked)
        chosen = next(rows for rows in ran.rows.values() if len(rows) == small.batch)
        made = routes_of(checked.typed, chosen, small.experts, tile)
        assert made.rows == {index: [tuple(row) for row in rows] for index, rows in ran.rows.items()}
        networks = [
            network_of(checked.spec, checked.typed, checked.spec.bindings(), PRESETS["default"], routes).network
            for routes in (ran, made)
        ]
        assert assert_literal(networks[0]).cycles == assert_literal(networks[1]).cycles


def test_lists_of_one_length_are_filled_up_each_by_itself() -> None:
    (checked,) = check_text(PADDED, "file.py").programs
    network = network_of(checked.spec, checked.typed, checked.spec.bindings(), PRESETS["default"]).network
    timing = assert_literal(network)
    sent = {timing.channels[place].put for place, channel in enumerate(network.channels) if channel.name == "data"}
    assert sent == {36}


def test_a_free_lane_takes_the_next_request_and_no_policy_stops() -> None:
    lengths = [9, *lengths_trace(31, mean=2, spread=0.5, seed=1)]
    cycles = []
    for policy in POLICIES:
        checked = checked_decode(policy, len(lengths), 32, max(lengths))
        cycles.append(time_program(checked, PRESETS["decode"], routes=traced_decode(checked, lengths)).cycles)
    coarse, interleaved, free = cycles
    assert coarse is not None and interleaved is not None and free is not None
    assert free < interleaved < coarse


@pytest.mark.parametrize(("tile", "shared"), [(4, 1), (0, 1), (4, 2), (2, 4)])
def test_mixtures_are_right_beside_pytorch(tile: int, shared: int, tmp_path: Path) -> None:
    small = MixtureSizes(batch=12, experts=4, hidden=6, inner=8, columns=4, scalar="fp32")
    file = tmp_path / "mixture.py"
    file.write_text(mixture_text(small, tile, shared))
    (program,) = programs(load(file, f"mixture_{tile}_{shared}"))
    verdict = program.verify(seed=3)
    assert verdict.accepted, repr(verdict)


def test_experts_that_share_a_region_read_as_much_and_keep_less_on_chip() -> None:
    trace = routing_trace(SIZES.batch, SIZES.experts, 2, skew=0.5, seed=0)
    timed = {}
    for shared in (1, 2, 4):
        checked = checked_mixture(SIZES, 4, shared)
        timed[shared] = time_program(
            checked, PRESETS["paper"], routes=routes_of(checked.typed, trace, SIZES.experts, 4)
        )
    assert timed[1].off_chip_bytes == timed[2].off_chip_bytes == timed[4].off_chip_bytes
    kept = [timed[shared].on_chip for shared in (1, 2, 4)]
    assert None not in kept and sorted(kept, key=lambda size: -(size or 0)) == kept and kept[0] != kept[2]
    assert product_share(timed[1]) < product_share(timed[2]) < product_share(timed[4])


@pytest.mark.parametrize("tile", [0, 4])
def test_narrow_tiles_of_weights_read_as_much_and_keep_less_on_chip(tile: int) -> None:
    trace = routing_trace(SIZES.batch, SIZES.experts, 2, skew=0.5, seed=0)
    timed = []
    for columns in (16, 4):
        checked = checked_mixture(replace(SIZES, hidden=1024, columns=columns), tile)
        timed.append(
            time_program(checked, PRESETS["paper"], routes=routes_of(checked.typed, trace, SIZES.experts, tile))
        )
    wide, narrow = timed
    assert wide.off_chip_bytes == narrow.off_chip_bytes
    assert wide.on_chip is not None and narrow.on_chip is not None and narrow.on_chip < 0.5 * wide.on_chip
    assert wide.cycles is not None and narrow.cycles is not None and narrow.cycles < 1.02 * wide.cycles


def test_experts_share_a_region_with_static_tiles_only() -> None:
    for tile, shared in ((0, 2), (4, 3)):
        with pytest.raises(ValueError, match="cannot share a region"):
            mixture_text(SIZES, tile, shared)


def test_the_distance_from_a_front_is_over_one_beyond_it() -> None:
    front = [(100.0, 10.0), (40.0, 20.0)]
    assert distance((50.0, 5.0), front) == 2
    assert distance((100.0, 10.0), front) == 1
    assert distance((200.0, 40.0), front) == 0.5


def test_relations_tell_what_stays_whatever_the_rows() -> None:
    static = [Point(4, 200, 90 + 4, 0, 0.0), Point(8, 150, 90 + 8, 0, 0.0), Point(16, 100, 90 + 16, 0, 0.0)]
    found = relations([Point(0, 100, 90 + 4, 0, 0.0), *static], 8)
    assert (found.cycles, found.memory) == (1.5, 98 / 94)
    assert found.distance == 106 / 94  # where weights outweigh rows the largest tile costs little
    assert found.sixth == 1.5  # the tile of 8: it takes 23 where dynamic ones take 19
    assert found.rows_alone == 2  # 90 stay: tiles of 4 take twice the cycles, those of 8 twice the memory
    assert (found.reached_memory, found.reached) == (98 / 94, 106 / 94)  # all experts get rows
    half = relations([Point(0, 100, 90 + 4, 0, 0.0), *static], 8, reached=0.5)
    assert half.reached_memory == half.reached == 98 / 49  # of the 90 that weights take 45 are left out
    assert half.distance == found.distance


def test_each_setting_of_a_front_has_a_row_and_narrow_weights_have_aims(monkeypatch: pytest.MonkeyPatch) -> None:
    def points(front: fronts.Front, _setting: fronts.Setting) -> list[Point]:
        static = [Point(tile, 100 + 1000 // tile, 90 + tile, 0, 0.0) for tile in front.tiles]
        return [Point(0, 100, 90 + static[0].tile, 0, 0.0), *static]

    monkeypatch.setattr(fronts, "_points", points)
    table, told = fronts.run_fronts()
    assert len(table.rows) == sum(1 + len(front.tiles) for front in fronts.FRONTS)
    assert len(told.rows) == len(told.figures) == sum(len(front.settings) for front in fronts.FRONTS)
    assert {len(row) for row in told.rows} == {len(told.columns)}
    qwen_like = [row for row in told.rows if row[0].startswith("Qwen-like, weights by 8, 64, 1.75")]
    assert [row[1] for row in qwen_like] == ["73", "64", "62"]  # of 128 experts so many get one of 64 rows
    aims = [goal for goal in told.goals if "mean of 3 traces" in goal]
    assert len(aims) == 6  # a distance each, and cycles and memory of tiles of 8


def test_free_lanes_are_faster_in_the_mean_whatever_the_spread() -> None:
    for batch, spread in product((16, 64), (0.25, 1.0, 2.0)):
        traces = [lengths_trace(batch, mean=16, spread=spread, seed=seed) for seed in range(200)]
        ratios = [dealt_tiles("interleaved", trace) / dealt_tiles("free", trace) for trace in traces]
        assert geometric_mean(ratios) > 1
        assert sum(ratio < 1 for ratio in ratios) < sum(ratio > 1 for ratio in ratios)


def test_no_rule_that_does_not_know_lengths_is_always_as_fast_as_lanes_in_turn() -> None:
    # The fifth request goes to another lane than in turn, which a long sixth one then has to share.
    lengths = [2, 1, 2, 2, 1, 9]
    assert dealt_tiles("free", lengths) == 11 > dealt_tiles("interleaved", lengths) == 10


def test_values_are_measured_on_data_that_are_given() -> None:
    data = {"w": torch.arange(6.0).reshape(2, 3)}
    assert measured(ValuedProgram("sums", WEIGHTED, data), again=1).off < 1e-6
    wrong = WEIGHTED.replace("input[0] + state[0]", "input[0] - state[0]")
    with pytest.raises(SystemExit, match="sums: the values are"):
        measured(ValuedProgram("sums", wrong, data), again=1)


def test_free_lanes_are_never_slower_where_requests_come_longest_first() -> None:
    late = 0
    for seed in range(300):
        lengths = lengths_trace(4 + seed % 61, mean=16, spread=0.25 + seed % 4 / 4, seed=seed)
        late += dealt_tiles("free", lengths) > dealt_tiles("interleaved", lengths)
        longest = sorted(lengths, reverse=True)
        assert dealt_tiles("free", longest) <= dealt_tiles("interleaved", longest)
    assert late > 0  # in another order lanes in turn may be lucky
    assert dealt_tiles("coarse", [1] * 40) == 16


def test_cycles_of_lanes_are_those_of_the_tiles_that_they_get() -> None:
    for seed in (0, 1):
        lengths = lengths_trace(16, mean=8, spread=0.5, seed=seed)
        cycles = {}
        for policy in POLICIES[1:]:
            checked = checked_decode(policy, 16, 128, max(lengths))
            timed = time_program(checked, PRESETS["decode"], routes=traced_decode(checked, lengths))
            assert timed.cycles is not None
            cycles[policy] = timed.cycles / dealt_tiles(policy, lengths)
        assert abs(cycles["interleaved"] / cycles["free"] - 1) < 0.06


def test_the_measured_file_of_generation_2_is_clean_and_as_long_as_it_says() -> None:
    text = generation2_file(1_000)
    assert check_text(text, "file.py").diagnostics == []
    assert 970 <= text.count("\n") <= 1_000
