"""Attention over filled caches from plain functions: recognized by operations, right, dealt to lanes by the data."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepagents.schedules.deliver import delivered
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepagents.schedules.ragged.attention import RaggedAttention, ragged_attention
from stepagents.schedules.ragged.estimate import TilePace, lane_cycles
from stepagents.schedules.ragged.lanes import LaneWriter
from stepagents.schedules.ragged.points import FREE, Dealing, LanePoint
from stepagents.schedules.ragged.search import DEALINGS, RaggedOptions, RaggedSearch, ragged_schedules
from stepagents.schedules.ragged.trace import drawn_lengths, parts_of, routes_of, tiles_of
from stepagents.schedules.search import ScheduleOptions
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import Target, find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.check import check_text
from stepcore.costs.bounds import Bounds
from stepcore.cycles.timed import time_program
from stepcore.fn.decl import CodeBlock, FnDecl
from stepcore.fn.limits import greatest_result
from stepcore.sim.functional import Session
from stepcore.sizes.kinds import upper
from stepcore.text.span import Embedded
from stepcore.timing.hardware import PRESETS
from stepcore.types import Scalar
from test_torchfn_synth import job

SOURCE = """\
import torch
import torch.nn.functional as F


def hidden(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    behind = torch.arange(k.shape[1])[None, None] >= lengths[:, None, None]
    return torch.softmax(scores.masked_fill(behind, float("-inf")), -1) @ v


# stepsmith: query[B, H, 4, D], keys[B, H, L, D], values[B, H, L, D], lengths[B] int64
def heads(query, keys, values, lengths):
    mask = torch.arange(keys.shape[2]) < lengths[:, None]
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=mask[:, None, None])


def stored(s, k0, v, lanes):  # stepsmith: s[B, 4, D], k0[B, D, L], v[B, L, D], lanes[B] int64
    at = torch.arange(k0.shape[2])[None, None]
    return torch.softmax(torch.where(lanes[:, None, None] >= at, torch.tanh(s @ k0), -1e30), -1) @ v


def added(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    mask = torch.where(torch.arange(k.shape[1]) < lengths[:, None], 0.0, float("-inf"))
    return torch.softmax(q @ k.mT / 2 + mask[:, None], -1) @ v


def flagged(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    seen = (torch.arange(k.shape[1]) < lengths[:, None]).float()
    return torch.softmax((1.0 - seen)[:, None, :] * -1e9 + q @ k.mT, -1) @ v


def shifted(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    mask = torch.where(torch.arange(k.shape[1]) < lengths[:, None], 1.0, float("-inf"))
    return torch.softmax(q @ k.mT + mask[:, None], -1) @ v


def projected(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    behind = torch.arange(k.shape[1]) >= lengths[:, None, None]
    return torch.relu(torch.softmax((q @ k.mT).masked_fill(behind, float("-inf")), -1) @ v)


def windowed(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    at = torch.arange(k.shape[1])
    seen = (at < lengths[:, None]) & (at >= lengths[:, None] - 4)
    return torch.softmax((q @ k.mT).masked_fill(~seen[:, None], float("-inf")), -1) @ v


def penalized(q, k, v, lengths):  # stepsmith: q[B, 4, D], k[B, L, D], v[B, L, D], lengths[B] int64
    behind = torch.arange(k.shape[1]) >= lengths[:, None, None]
    return torch.softmax((q @ k.mT).masked_fill(behind, -1.0), -1) @ v


def looked_up(table, index):  # stepsmith: table[B, D], index[B] int64
    return table[index]
"""
SIZES = {"B": 6, "H": 2, "D": 8, "L": 32}
PAPER = PRESETS["paper"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "caches.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def traced(path: Path, name: str, sizes: dict[str, int]) -> tuple[Target, TracedFunction]:
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    asked = {symbol: size for symbol, size in sizes.items() if symbol != "H" or name == "heads"}
    return target, trace(target, completed(target, partly(target, [], asked)))


def recognized(path: Path, name: str, sizes: dict[str, int]) -> tuple[TracedFunction, RaggedAttention]:
    _, function = traced(path, name, sizes)
    plan = ragged_attention(function)
    assert plan is not None
    return function, plan


@pytest.mark.parametrize(
    "sizes", [("lane", "TR", "of_keys"), ("scored", "rest", "every")], ids=["rows and lanes", "streams"]
)
@pytest.mark.parametrize(
    "point", [LanePoint(8, 3, "dynamic"), LanePoint(8, 2, "longest", parts=2), LanePoint(8, 3, "coarse")]
)
def test_sizes_may_be_called_what_streams_and_indices_are(
    source: Path, point: LanePoint, sizes: tuple[str, ...]
) -> None:
    assert written_as(source, point, sizes).costs == written_as(source, point, tuple("BLD")).costs


def written_as(source: Path, point: LanePoint, sizes: tuple[str, ...]) -> Tiled:
    """Return the program of a function whose sizes B, L and D have other names, which is right."""
    names = dict(zip("BLD", sizes, strict=True))
    head, line, rest = re.split(r"(def hidden\(.*)", source.read_text(encoding="utf-8"), maxsplit=1)
    about = re.sub(r"\b[BLD]\b", lambda found: names[found[0]], line)
    path = source.with_name(f"{'_'.join(sizes)}.py")
    path.write_text(f"{head}{about}{rest}", encoding="utf-8")
    target = find_target(str(path), path.read_text(encoding="utf-8"), "hidden")
    function = trace(target, completed(target, partly(target, [], {names[symbol]: SIZES[symbol] for symbol in "BLD"})))
    plan = ragged_attention(function)
    assert plan is not None
    program = LaneWriter(function, plan, {**function.dims, **function.bound}).written(point, PAPER, 20)
    file = delivered(function, target, program, path.parent, ".step.py")
    assert not file.fault and file.is_whole
    return program


@pytest.mark.parametrize(
    ("name", "dealing"),
    [
        *(("hidden", dealing) for dealing in DEALINGS),
        ("heads", "dynamic"),
        ("heads", "longest"),
        ("added", "dynamic"),
        ("flagged", "coarse"),
        ("stored", "coarse"),
        ("stored", "longest"),
    ],
)
def test_each_way_of_dealing_is_right(source: Path, name: str, dealing: Dealing) -> None:
    target, function = traced(source, name, SIZES)
    plan = ragged_attention(function)
    assert plan is not None
    writer = LaneWriter(function, plan, {**function.dims, **function.bound})
    program = writer.written(LanePoint(8, 3, dealing), PAPER, 20)
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and file.is_whole
    # a row, all, a tile, one more, more than there are, less than a tile
    found, wanted = run(function, plan, program, [1, 32, 8, 9, 40, 7])
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "dealing", "lanes", "parts"),
    [
        ("hidden", "longest", 5, 4),
        ("stored", "dynamic", 3, 2),
        ("hidden", "interleaved", 8, 3),
        ("hidden", "coarse", 4, 2),
        ("heads", "interleaved", 1, 2),
    ],
)
def test_parts_of_requests_are_joined(source: Path, name: str, dealing: Dealing, lanes: int, parts: int) -> None:
    target, function = traced(source, name, SIZES)
    plan = ragged_attention(function)
    assert plan is not None
    writer = LaneWriter(function, plan, {**function.dims, **function.bound})
    program = writer.written(LanePoint(8, lanes, dealing, None, parts), PAPER, 20)
    lengths = [1, 32, 8, 9, 40, 0 if name == "heads" else 7]  # parts without tiles
    found, wanted = run(function, plan, program, lengths)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    if dealing == "longest":
        file = delivered(function, target, program, source.parent, ".step.py")
        assert not file.fault and file.is_whole
    assert sum(parts_of([5, 0, 2], parts)) == 7 and max(parts_of([5], parts)) == -(-5 // parts)


def test_few_requests_are_cut(source: Path) -> None:
    function, plan = recognized(source, "hidden", {"B": 2, "D": 64, "L": 256})
    options = RaggedOptions(PAPER, lengths=(256, 16), lanes=(2, 8), rows=(16,), dealings=("interleaved",))
    (best,) = RaggedSearch(function, plan, options).best()["interleaved"]
    whole = RaggedSearch(function, plan, replace(options, lanes=(1,))).best()["interleaved"][0]
    assert best.point.lanes == 8 and best.point.parts > 1 and 2 * best.cycles < whole.cycles
    assert f"requests in {best.point.parts} parts" in best.point.text


def run(
    function: TracedFunction, plan: RaggedAttention, program: Tiled, lengths: list[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what a program and what its function give."""

    def reference(given: torch.Tensor, **named: torch.Tensor) -> torch.Tensor:
        (result,) = function.reference(*(named.get(item.name, given) for item in function.inputs))
        return result

    session = Session(
        program.spec, reference=reference, examine=False, given=lambda _: {plan.lengths.name: [torch.tensor(lengths)]}
    )
    ((wanted,),) = session.world.references()
    assert wanted is not None
    return session.run(program.checked.typed).outputs[0][0].reshape(wanted.shape), wanted


def test_a_request_that_sees_nothing_gives_what_the_function_gives(source: Path) -> None:
    for name in ("heads", "hidden"):  # 0, and no number
        function, plan = recognized(source, name, {**SIZES, "B": 2, "H": 1})
        writer = LaneWriter(function, plan, {**function.dims, **function.bound})
        found, wanted = run(function, plan, writer.written(LanePoint(8, 2, "dynamic"), PAPER, 4), [0, 5])
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)
        assert bool(wanted[0].isnan().all()) == (name == "hidden") and not bool(wanted[1].isnan().any())


def test_dynamic_lanes_are_found_where_lengths_are_skewed(source: Path) -> None:
    function, plan = recognized(source, "hidden", {"B": 16, "D": 64, "L": 256})
    lengths = tuple(256 if number in (0, 1, 4, 8) else 16 for number in range(16))  # three in one lane, two in a block
    search = RaggedSearch(function, plan, RaggedOptions(PAPER, lengths=lengths, lanes=(4,)))
    best = {dealing: group[0] for dealing, group in search.best().items()}
    assert best["dynamic"].cycles * 1.5 < best["coarse"].cycles
    assert best["dynamic"].cycles * 1.8 < best["interleaved"].cycles
    assert min(best.values(), key=lambda each: each.cycles).point.dealing in FREE
    alike = RaggedSearch(function, plan, RaggedOptions(PAPER, lengths=(256,) * 16, lanes=(4,)))
    even = {dealing: group[0].cycles for dealing, group in alike.best().items()}
    assert even["interleaved"] <= even["dynamic"] * 1.02  # nothing to gain


def test_the_fewest_cycles_come_first_and_are_those_of_its_routes(source: Path) -> None:
    function, plan = recognized(source, "hidden", {"B": 8, "D": 32, "L": 64})
    lowering = ragged_schedules(function, ScheduleOptions(PAPER, wanted=3))
    assert lowering is not None
    program = lowering.programs[0]
    assert [each.cycles for each in lowering.programs] == sorted(each.cycles or 0 for each in lowering.programs)
    assert "cycles of the best lanes on drawn lengths: coarse " in program.schedule
    routes = routes_of(program, plan, drawn_lengths(8, 64, 0))
    timed = time_program(program.checked, PAPER, routes=routes)
    assert timed.cycles == program.cycles and timed.on_chip is not None
    # what lies behind a length is not read
    shorter = time_program(program.checked, PAPER, routes=routes_of(program, plan, (1,) * 8))
    assert shorter.off_chip_bytes < timed.off_chip_bytes


def test_a_run_for_the_routes_may_take_what_its_lanes_share(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function, plan = recognized(source, "hidden", {"B": 8, "D": 32, "L": 64})
    search = RaggedSearch(function, plan, RaggedOptions(PAPER, lanes=(8,), dealings=("dynamic",), rows=(16,)))
    best = search.best()["dynamic"][0]
    spec, lengths = best.program.spec, drawn_lengths(8, 64, 0)
    needed = Bounds(spec, spec.bindings({"D": 1})).check(best.program.checked.typed).total
    monkeypatch.setattr("stepagents.schedules.ragged.trace.DEFAULT_LIMIT", needed // 2)
    with pytest.raises(NoSchedule, match=r"no run says what its lanes get: .* more memory than allowed"):
        routes_of(best.program, plan, lengths)
    assert routes_of(best.program, plan, lengths, 8) == routes_of(best.program, plan, lengths, 16)
    monkeypatch.setattr(
        "stepagents.schedules.ragged.trace.DEFAULT_LIMIT", 100
    )  # what is given alone is more, whatever lanes share
    with pytest.raises(NoSchedule, match="no run says what its lanes get"):
        routes_of(best.program, plan, lengths, 1 << 20)


def test_the_closed_form_ranks_as_the_exact_engine_does(source: Path) -> None:
    function, plan = recognized(source, "hidden", {"B": 32, "D": 64, "L": 1024})
    options = RaggedOptions(PAPER, lengths=drawn_lengths(32, 1024, 5), lanes=(4, 32), rows=(32,), exact=2)
    timed = [point for group in RaggedSearch(function, plan, options).best().values() for point in group]
    assert len(timed) == 8
    for point in timed:
        assert abs(point.estimate / point.cycles - 1) < 0.15, point.point
    nearest = min(timed, key=lambda each: each.estimate)
    assert nearest.cycles <= 1.03 * min(each.cycles for each in timed)


def test_the_longest_first_is_not_slower_than_in_turn() -> None:
    for seed in range(300):
        tiles = [-(-each // 64) for each in drawn_lengths(24, 8192, seed)]
        longest, turn = (lane_cycles(dealing, tiles, 4, TilePace(1, 0, 0)) for dealing in ("longest", "interleaved"))
        assert longest <= turn
    lucky = [2, 3, 2, 3, 2]  # a fixed order may be the best one, by at most a third (Graham, 1969)
    assert [lane_cycles(dealing, lucky, 2, TilePace(1, 0, 0)) for dealing in ("longest", "interleaved")] == [7, 6]


def test_lengths_are_drawn_as_stated() -> None:
    lengths = drawn_lengths(2000, 8192, 3)
    assert lengths == drawn_lengths(2000, 8192, 3) and min(lengths) >= 256 and max(lengths) <= 8192
    assert 1300 < sorted(lengths)[1000] < 1600  # the median is the geometric mean, 1,448


def test_the_busiest_lane(source: Path) -> None:
    tiles = [8, 1, 1, 1, 8, 1]
    alone = TilePace(1, 0, 0)
    assert [lane_cycles(dealing, tiles, 2, alone) for dealing in DEALINGS] == [10, 17, 11, 10]
    assert lane_cycles("interleaved", [4, 2], 2, TilePace(3, 2, 5)) == 10 + 2 * 4 + 2 * 3  # two share it, then one
    assert [lane_cycles(dealing, [2, 2, 2, 2], 2, TilePace(1, 0, 7)) for dealing in DEALINGS] == [18, 18, 18, 18]
    _, plan = recognized(source, "stored", SIZES)
    assert tiles_of(plan, [0, 7, 8, 31, 90], 8, SIZES) == [1, 1, 2, 4, 4]  # a position sees itself


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("projected", "behind the product of weights and values something else is computed"),
        ("windowed", "its mask is no comparison of positions with lengths"),
        ("shifted", "what is added to scores that are seen is not 0"),
        ("penalized", "what is masked is no number that softmax gives the weight 0"),
    ],
)
def test_what_is_another_computation_is_told(source: Path, name: str, reason: str) -> None:
    _, function = traced(source, name, SIZES)
    with pytest.raises(NoSchedule, match=reason):
        ragged_attention(function)


def test_whole_numbers_that_mask_nothing_are_no_lengths(source: Path) -> None:
    assert ragged_attention(traced(source, "looked_up", {"B": 6, "D": 8})[1]) is None


def test_it_works_for_a_user(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = job(source, "hidden", emit="tiled", dims={"B": 4, "D": 32, "L": 256})
    (program, *_) = found["programs"]
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if "behind, float" in text)
    assert f"# line {line}: return torch.softmax(" in program["text"]
    assert "step.FlatMap(fn=step.count)" in program["text"] and '"lengths": (1, 256)' in program["text"]
    assert any("cycles of the best lanes" in note for note in found["notes"])
    code = run_functions([f"{source}::projected"], FunctionOptions(emit="tiled", dims={"B": 4, "D": 8, "L": 16}))
    reason = "attention over filled caches cannot be dealt to lanes: behind the product of weights and values"
    assert code == 0 and reason in capsys.readouterr().err


def test_small_runs_draw_lengths_within_their_sizes(source: Path) -> None:
    target, function = traced(source, "hidden", {"B": 4, "D": 8, "L": 1 << 22})  # too many numbers for a whole run
    plan = ragged_attention(function)
    assert plan is not None
    writer = LaneWriter(function, plan, {**function.dims, **function.bound})
    file = delivered(function, target, writer.written(LanePoint(8, 2, "dynamic"), PAPER, 8), source.parent, ".step.py")
    assert not file.fault and not file.is_whole
    assert [sizes["L"] for sizes in file.verified] == [32] and '"lengths": (1, 4194304)' in file.text


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        ("return [torch.clamp(input[0] // 2, 0, N_value // 4)]", "N//4"),
        ("return torch.clamp(input[0], max=2 * N_value + 1)", "2*N + 1"),
        ("return [torch.clamp(input[0], 0)]", None),
        ("return [torch.clamp(input[0], 0, -1)]", None),
        ("return [torch.clamp(input[0], 0, other)]", None),
        ("N_value = 7\nreturn [torch.clamp(input[0], 0, N_value)]", None),
        ("return [torch.clamp(input[0], 0, 1) + 1]", None),
        ("return [torch.clamp(input[0], 0, 7 // 0)]", None),
        ("return [", None),
    ],
)
def test_what_a_function_limits_bounds_the_lists_that_are_counted(body: str, limit: str | None) -> None:
    int64 = Scalar("int64")
    fn = FnDecl("f", "f", int64, int64, CodeBlock(Embedded.whole(body), ("input",)))
    found = greatest_result(fn, {"N"})
    assert (None if found is None else str(found)) == limit


def test_memory_is_bounded_by_what_is_limited() -> None:
    text = """\
import stepcore as step
from stepcore.dims import M, N
from typing import Annotated

@step.fn(input=step.Scalar("int64"), output=step.Scalar("int64"))
def halves(input):
    return [torch.clamp(input[0] // 2, 0, N_value)]

@step.program(dims={M: 3, N: 8})
def counted(n: Annotated[step.Stream, step.Scalar("int64"), (M,)]):
    return step.FlatMap(fn=step.count).apply(step.Promote(b=0).apply(step.Map(fn=halves).apply(n)))
"""
    (program,) = check_text(text, "counted.py").programs
    (returned,) = program.typed.returns
    longest = program.typed.streams[returned].type.shape[0]
    assert upper(longest, {"M": 3, "N": 8}) == 8
