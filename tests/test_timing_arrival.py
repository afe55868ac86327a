"""Decisions of arrival in the exact timing engine: EagerMerge, Reassemble, Parallelize, and the literal engine."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from stepcore.timing import memory, rows, units
from stepcore.timing.arrival import Order, run_arrival
from stepcore.timing.exact import TooLong, run
from stepcore.timing.microcode import enq, peek, take, times, until_done, work, work_table
from stepcore.timing.recorder import RunRecorder
from stepcore.timing.unit_programs import eager_merge_unit, parallelize_free_unit, parallelize_unit
from test_timing_recorder import holds_the_sums, recorded
from timing_networks import Build, chip, drawn_arrival
from timing_programs import assert_literal


def merged() -> Build:
    """Micro-case 8: four tokens every 3 cycles from 0, three every 5 from 1."""
    net = Build(chip(2))
    first, second, out, selector = (net.channel(name) for name in ("a", "b", "out", "selector"))
    net.source(first, 4, 3)
    net.unit("source", [*work(1), *times(3, [*enq(second), *work(5)])], (), (second,))
    net.unit("EagerMerge", eager_merge_unit((first, second), out, selector, 7), (first, second), (out, selector))
    net.sink(out, 7)
    net.sink(selector, 7)
    return net


def test_eager_merge_takes_what_is_there_first() -> None:
    record = RunRecorder()
    timing = run(merged(), recorder=record)
    assert timing.order == {2: (0, 1, 0, 0, 1, 0, 1)}
    assert [cycle for _tokens, cycle in record.put[2]] == [1, 2, 4, 7, 7, 10, 12]
    assert timing.order == assert_literal(merged()).order


WORK = (40, 10, 10, 10, 10, 10, 10, 10)


def dispatched(order: Order, *, by_room: bool) -> Build:
    """Micro-case 9: two lanes of work; what each does follows from which tokens it got."""
    net = Build(chip(2))
    start, ways, out, which = (net.channel(name) for name in ("x", "ways", "out", "which"))
    lanes = [net.lane(f"lane{k}", 1) if by_room else net.channel(f"lane{k}", 1) for k in range(2)]
    done = [net.channel(f"done{k}") for k in range(2)]
    net.source(start, len(WORK))
    body = parallelize_unit(start, lanes, ways, len(WORK), switch=1)
    if by_room:
        body = parallelize_free_unit(start, lanes, ways, len(WORK))
    net.unit("Parallelize", body, (start,), (*lanes, ways))
    taken = order.get(1, tuple(k % 2 for k in range(len(WORK))))
    for k, (lane, result) in enumerate(zip(lanes, done, strict=True)):
        cycles = [c for c, of in zip(WORK, taken, strict=True) if of == k]
        call = [*peek(lane), *work_table(cycles), *enq(result), *take(lane)]
        net.unit("Map", until_done((lane,), [call]), (lane,), (result,))
    net.unit("EagerMerge", eager_merge_unit(done, out, which, None), done, (out, which))
    for channel in (out, which, ways):
        net.unit("sink", until_done((channel,), [take(channel)]), (channel,))
    return net


@pytest.mark.parametrize(("by_room", "cycles"), [(False, 82), (True, 71)])
def test_parallelize_gives_work_to_lanes(by_room: bool, cycles: int) -> None:
    network, timing = run_arrival(lambda order: dispatched(order, by_room=by_room))
    assert (timing.cycles, timing.lost) == (cycles, ())
    if by_room:
        assert timing.order[1] == (0, 1, 1, 1, 1, 0, 1, 0)
    assert assert_literal(network).cycles == cycles


@pytest.mark.parametrize("seed", range(120))
def test_the_exact_engine_decides_like_the_literal_one(seed: int) -> None:
    timing = assert_literal(drawn_arrival(Random(seed)))
    assert not timing.lost


@pytest.mark.parametrize("seed", range(30))
def test_neither_windows_nor_the_order_of_units_decide(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    network = drawn_arrival(rng)
    timing = run(network)
    for at_once in (1, 1 << 40):  # all windows at once, and none
        monkeypatch.setattr(memory, "_AT_ONCE", at_once)
        assert run(network) == replace(timing, instructions=run(network).instructions)
    order = rng.sample(range(len(network.units)), len(network.units))
    other = run(replace(network, units=[network.units[u] for u in order]))
    assert other.channels == timing.channels
    assert {order[u]: row for u, row in other.order.items()} == timing.order


def test_machine_code_decides_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    assert units.compiled() is not None, "the extra `fast` brings numba"
    for seed in range(150):
        network = drawn_arrival(Random(seed))
        interpreted = run(network)
        with monkeypatch.context() as patch:
            patch.setattr(rows, "COMPILE_FROM", 1)
            compiled = run(network)
        assert replace(compiled, instructions=0) == replace(interpreted, instructions=0)


@pytest.mark.parametrize("seed", range(20))
def test_a_record_of_decisions_holds_the_sums(seed: int) -> None:
    holds_the_sums(*recorded(drawn_arrival(Random(seed))))


def test_a_lane_without_data_for_what_it_got_is_lost() -> None:
    """Micro-case 9 with the work of tokens in turn: lane 1 gets five of them and has the work of four."""
    timing = run(dispatched({}, by_room=True))
    assert timing.order[1][:5] == (0, 1, 1, 1, 1)
    assert timing.lost == (3,)


def test_an_order_that_is_not_found_is_refused() -> None:
    with pytest.raises(TooLong, match="not found in 1 runs"):
        run_arrival(lambda order: dispatched(order, by_room=True), guesses=1)


def test_decisions_are_bounded() -> None:
    net = Build(chip(2))
    first, second, out, selector = (net.channel(name) for name in ("a", "b", "out", "selector"))
    net.source(first, 10**12)
    net.source(second, 10**12)
    body = eager_merge_unit((first, second), out, selector, 2 * 10**12)
    net.unit("EagerMerge", body, (first, second), (out, selector))
    net.sink(out, 2 * 10**12)
    net.sink(selector, 2 * 10**12)
    with pytest.raises(TooLong, match="arrival decides"):
        run(net)
