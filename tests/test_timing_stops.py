"""A run that stopped: the ring of units that wait for each other, and the smallest depths that cure it."""

from __future__ import annotations

from random import Random

import pytest

from stepcore.timing.exact import run
from stepcore.timing.stops import cure, ring, with_depths
from timing_networks import Build, chip, diamond, drawn


def names(network: Build, stopped: bool = True) -> list[tuple[str, str, str]]:
    found = ring(network, run(network))
    assert bool(found) is stopped
    return [(network.units[w.unit].name, network.channels[w.channel].name, w.reason) for w in found]


def test_the_ring_of_a_fork_that_a_fold_holds_up() -> None:
    found = names(diamond(5))
    assert found == [
        ("Copy", "direct", "full"), ("Map", "repeated", "empty"), ("Repeat", "sums", "empty"),
        ("Accum", "folded", "empty"),
    ]  # fmt: skip


def test_a_run_that_ends_has_no_ring() -> None:
    assert names(diamond(6), stopped=False) == []


@pytest.mark.parametrize(("network", "channel", "depth"), [(diamond(1), 5, 6), (diamond(1, behind=True), 5, 4)])
def test_the_smallest_depth_that_cures_it(network: Build, channel: int, depth: int) -> None:
    assert cure(network, run(network)) == {channel: depth}


def two_forks() -> Build:
    """Two paths go past the fold, each too shallow: no single depth helps."""
    net = Build(chip(1))
    start, folded, sums, repeated, first, second, both, out = (
        net.channel(name) for name in ("x", "folded", "sums", "repeated", "first", "second", "both", "out")
    )
    net.source(start, 18)
    net.copy(start, (folded, first, second), 18)
    net.accum((folded,), sums, 3, 6, 1)
    net.repeat(sums, repeated, 3, 6)
    net.map((first, repeated), both, 18, 1)
    net.map((second, both), out, 18, 1)
    net.sink(out, 18)
    return net


def test_several_depths_where_none_helps_alone() -> None:
    network = two_forks()
    found = cure(network, run(network))
    assert set(found) == {4, 5}
    assert not run(with_depths(network, found)).waiting
    for channel, depth in found.items():
        assert run(with_depths(network, {**found, channel: depth - 1})).waiting


def test_a_fifo_that_others_make_deep_enough_is_not_named() -> None:
    """Its ring shows only behind the first one; a FIFO of it may stay as it is once the other holds more."""
    network = drawn(Random("b.drawn.98"))
    found = cure(network, run(network))
    assert found == {14: 4, 28: 4}
    assert not run(with_depths(network, found)).waiting
    for channel, depth in found.items():
        assert run(with_depths(network, {**found, channel: depth - 1})).waiting


@pytest.mark.parametrize("seed", range(40))
def test_what_stops_is_cured_and_by_no_less(seed: int) -> None:
    network = drawn(Random(seed * 31 + 7))
    timing = run(network)
    if not timing.waiting:
        assert ring(network, timing) == ()
        return
    found = cure(network, timing)
    assert found
    assert not run(with_depths(network, found)).waiting
    for channel, depth in found.items():
        assert run(with_depths(network, {**found, channel: depth - 1})).waiting


@pytest.mark.parametrize("seed", range(30))
def test_more_depth_never_stops_a_run(seed: int) -> None:
    network = drawn(Random(seed))
    if not run(network).waiting:
        deeper = {channel: item.depth + 1 + channel % 3 for channel, item in enumerate(network.channels)}
        assert not run(with_depths(network, deeper)).waiting
