"""Networks and chips of absurd sizes: bounded in steps and memory, exact where they end, one sentence where not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from stepcore.timing.exact import Timing, TooLong, run
from stepcore.timing.hardware import PRESETS, Hardware
from stepcore.timing.microcode import take, times, work, work_table
from stepcore.timing.stops import cure
from timing_networks import Build, chip, diamond

HUGE = 10**18
LIMIT = 300_000
DEFAULT = PRESETS["default"]


def fifo(**keys: int) -> Hardware:
    return replace(DEFAULT, fifo=replace(DEFAULT.fifo, **keys))


def memory(**keys: Any) -> Hardware:
    return replace(DEFAULT, memory=replace(DEFAULT.memory, **keys))


def mapped(hardware: Hardware, count: int, cycles: int = 3) -> Build:
    net = Build(hardware)
    a, b = net.channel("a"), net.channel("b")
    net.source(a, count)
    net.map((a,), b, count, cycles)
    net.sink(b, count)
    return net


def moved(hardware: Hardware, tiles: int, bursts: int) -> Build:
    net = Build(hardware)
    a = net.channel("a")
    net.load(0, a, tiles, bursts)
    net.store(1, a, tiles, bursts)
    return net


ENDS: dict[str, tuple[Callable[[], Build], int]] = {
    "tokens": (lambda: mapped(DEFAULT, HUGE), 3 * HUGE + 2),
    "work": (lambda: mapped(DEFAULT, 5, HUGE), 5 * HUGE + 2),
    "depth that few tokens use": (lambda: mapped(fifo(depth=HUGE), 100), 302),
    "latency": (lambda: mapped(fifo(latency=HUGE), 1), 2 * HUGE + 3),
    "nothing": (lambda: moved(DEFAULT, 0, 5), 0),
    "bursts": (lambda: moved(DEFAULT, 1, HUGE), 2 * (HUGE // 4 + 19) + 1),
    "rows": (lambda: diamond(6, rows=10**9), 79 + 21 * (10**9 - 3)),
}


@pytest.mark.parametrize("case", ENDS)
def test_what_ends_is_exact_however_long(case: str) -> None:
    network, cycles = ENDS[case]
    timing = run(network(), limit=LIMIT)
    assert (timing.cycles, timing.waiting) == (cycles, ())


def folded(count: int) -> Build:
    """One fold of everything; who reads its result does nothing until the end."""
    net = Build(chip(2))
    a, b, c = (net.channel(name) for name in "abc")
    net.source(a, count)
    net.accum((a,), b, 1, count, 2)
    net.flatten(b, c, 1)
    net.sink(c, 1)
    return net


def test_units_that_do_nothing_keep_no_period_from_being_seen() -> None:
    few, more = run(folded(100)).cycles, run(folded(200)).cycles
    assert run(folded(10**12), limit=LIMIT).cycles == few + (10**12 - 100) // 100 * (more - few)


TOO_MUCH = {
    "tokens in flight": (mapped(fifo(depth=10**9), HUGE), "tokens together"),
    "bursts that wait for each other": (moved(memory(outstanding=1), 2, HUGE), "steps of units and of memory"),
    "a long memory of bursts": (moved(memory(outstanding=4096, startup=1 << 40), HUGE, 16), "steps of units and of"),
    "bursts of a cycle": (moved(memory(dispatch=1 << 40), 2, 1 << 41), "bursts a cycle, and 4,096"),
}


@pytest.mark.parametrize("case", TOO_MUCH)
def test_what_does_not_end_soon_is_refused_in_a_sentence(case: str) -> None:
    network, words = TOO_MUCH[case]
    with pytest.raises(TooLong, match=words) as caught:
        run(network, limit=LIMIT)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("keys", [{"channels": 4096}, {"channels": 4093, "dispatch": 7, "interleave": "triangular"}])
def test_many_channels(keys: dict[str, Any]) -> None:
    """Whatever the chip, the run ends: with its cycles, or with a refusal."""
    try:
        timing: Timing | None = run(moved(memory(**keys), HUGE, 10**6), limit=LIMIT)
    except TooLong:
        timing = None
    assert timing is None or timing.bursts == 2 * HUGE * 10**6


def test_an_estimate_is_bounded_where_bursts_wait_for_each_other() -> None:
    timing = run(moved(memory(outstanding=1), 2, HUGE), limit=LIMIT, fluid=True)
    assert timing.cycles > HUGE // 32


def test_no_clock_of_machine_code_overflows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of numbers that the data decide are 64-bit integers there; these clocks have more."""
    monkeypatch.setattr("stepcore.timing.rows.COMPILE_FROM", 1)
    net = Build(DEFAULT)
    a = net.channel("a")
    net.source(a, 4)
    net.unit("Map", times(4, [*take(a), *work_table([1 << 62] * 4), *work(1 << 62)]), (a,))
    assert run(net, limit=LIMIT).cycles == (1 << 65) + 1


def test_a_cure_takes_a_few_runs_however_deep() -> None:
    """5,000 elements have to be held: found by doubling, and from the greatest fill downwards."""
    net, direct = diamond(2, rows=2, size=5_000), 5
    assert net.channels[direct].name == "direct"
    assert cure(net, run(net), limit=1_500_000) == {direct: 5_000}
