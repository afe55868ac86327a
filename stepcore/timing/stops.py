"""Why a run stopped, and which depths cure it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from stepcore.timing.exact import Timing, Waiting, run
from stepcore.timing.network import Network

_DEEPEST: Final = 1 << 22  # tokens


def ring(network: Network, timing: Timing) -> tuple[Waiting, ...]:
    """Return the units that wait for each other in a circle, each for the next one; empty where the run did not stop.

    A unit waits for the producer of an empty channel, and for the consumer of a full one.
    """
    waiting = {item.unit: item for item in timing.waiting}
    ends = _ends(network)
    for start in sorted(waiting):
        seen: list[int] = []
        at = start
        while at in waiting and at not in seen:
            seen.append(at)
            producer, consumer = ends[waiting[at].channel]
            at = producer if waiting[at].reason == "empty" else consumer
        if at in seen:
            return tuple(waiting[unit] for unit in seen[seen.index(at) :])
    return ()


def cure(network: Network, timing: Timing) -> Mapping[int, int]:
    """Return the smallest depths, by channel, with which a stopped network runs; empty where no depth helps.

    One channel of the ring is tried after the other; where none cures it alone, all full channels together.
    """
    full = sorted({item.channel for item in ring(network, timing) if item.reason == "full"})
    alone = {channel: depth for channel in full if (depth := _enough(network, channel)) is not None}
    if alone:
        best = min(alone, key=lambda channel: (alone[channel] - network.channels[channel].depth, channel))
        return {best: alone[best]}
    return _together(network, timing)


def _together(network: Network, timing: Timing) -> Mapping[int, int]:
    """Deepen whatever is full in the ring until it runs; then make one channel after the other as shallow as may be."""
    depths: dict[int, int] = {}
    deeper = network
    while timing.waiting:
        full = [item.channel for item in ring(deeper, timing) if item.reason == "full"]
        if not full or max(deeper.channels[channel].depth for channel in full) >= _DEEPEST:
            return {}
        depths.update({channel: 2 * deeper.channels[channel].depth for channel in full})
        deeper = with_depths(network, depths)
        timing = run(deeper)
    for channel in sorted(depths):
        fewest = _least(with_depths(network, depths), channel, network.channels[channel].depth, depths[channel])
        depths[channel] = fewest
    return {channel: depth for channel, depth in depths.items() if depth > network.channels[channel].depth}


def _enough(network: Network, channel: int) -> int | None:
    """Return the smallest depth of one channel with which the network runs, None where it never does."""
    shallow = network.channels[channel].depth
    for depth in _doubled(shallow):
        found = run(with_depths(network, {channel: depth}))
        if not found.waiting:
            return _least(network, channel, shallow, max(shallow + 1, found.channels[channel].fill))
        if found.channels[channel].put - found.channels[channel].taken < depth:
            return None  # it was not this channel that was full
    return None


def _doubled(depth: int) -> Iterator[int]:
    while depth < _DEEPEST:
        depth *= 2
        yield depth


def _least(network: Network, channel: int, stops: int, runs: int) -> int:
    """Bisect between a depth that stops and one that runs: more depth never stops a run."""
    while runs - stops > 1:
        middle = (stops + runs) // 2
        if run(with_depths(network, {channel: middle})).waiting:
            stops = middle
        else:
            runs = middle
    return runs


def with_depths(network: Network, depths: Mapping[int, int]) -> Network:
    """Return the network with other depths of some channels."""
    channels = [
        replace(channel, depth=depths.get(number, channel.depth)) for number, channel in enumerate(network.channels)
    ]
    return Network(network.hardware, network.units, channels, network.dispatch)


def _ends(network: Network) -> dict[int, tuple[int, int]]:
    """Return producer and consumer of each channel."""
    made = {channel: unit for unit, item in enumerate(network.units) for channel in item.writes}
    read = {channel: unit for unit, item in enumerate(network.units) for channel in item.reads}
    return {channel: (made[channel], read[channel]) for channel in made}
