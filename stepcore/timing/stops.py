"""Why a run stopped, and which depths cure it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from stepcore.timing.exact import MAX_INSTRUCTIONS, Timing, TooLong, Waiting, run
from stepcore.timing.network import Network

_DEEPEST: Final = 1 << 22  # tokens


def ring(network: Network, timing: Timing) -> tuple[Waiting, ...]:
    """Return the units that wait for each other in a circle, each for the next one; empty where the run did not stop.

    A unit waits for the producer of an empty channel, and for the consumer of a full one.
    """
    waiting = {item.unit: item for item in timing.waiting}
    producers, consumers = network.ends()
    for start in sorted(waiting):
        seen: list[int] = []
        at = start
        while at in waiting and at not in seen:
            seen.append(at)
            on = waiting[at]
            at = producers[on.channel] if on.reason == "empty" else consumers[on.channel]
        if at in seen:
            return tuple(waiting[unit] for unit in seen[seen.index(at) :])
    return ()


def cure(network: Network, timing: Timing, *, limit: int = MAX_INSTRUCTIONS) -> Mapping[int, int]:
    """Return the smallest depths, by channel, with which a stopped network runs; empty where no depth helps.

    One channel of the ring is tried after the other; where none cures it alone, all full channels together.

    Raises:
        TooLong: the runs that this takes need more than ``limit`` instructions of units altogether.
    """
    return _Cure(network, Reruns(limit)).cure(timing)


@dataclass(slots=True)
class Reruns:
    """Runs of networks with other depths, which share a budget of instructions: ``left`` are those not spent yet."""

    left: int

    def run(self, network: Network) -> Timing:
        """Run a network.

        Raises:
            TooLong: no instructions are left, or not enough.
        """
        if self.left <= 0:
            raise TooLong("no steps are left for trials of depths")
        timing = run(network, limit=self.left)
        self.left -= timing.instructions
        return timing


@dataclass(slots=True)
class _Cure:
    network: Network
    reruns: Reruns

    def cure(self, timing: Timing) -> Mapping[int, int]:
        network = self.network
        full = sorted({item.channel for item in ring(network, timing) if item.reason == "full"})
        alone = {channel: depth for channel in full if (depth := self._enough(channel)) is not None}
        if alone:
            best = min(alone, key=lambda channel: (alone[channel] - network.channels[channel].depth, channel))
            return {best: alone[best]}
        return self._together(timing)

    def _together(self, timing: Timing) -> Mapping[int, int]:
        """Deepen whatever is full in the ring until it runs; then make each channel as shallow as can be."""
        network = self.network
        depths: dict[int, int] = {}
        deeper = network
        while timing.waiting:
            full = [item.channel for item in ring(deeper, timing) if item.reason == "full"]
            if not full or max(deeper.channels[channel].depth for channel in full) >= _DEEPEST:
                return {}
            depths.update({channel: 2 * deeper.channels[channel].depth for channel in full})
            deeper = with_depths(network, depths)
            timing = self.reruns.run(deeper)
        for channel in sorted(depths):
            less = network.channels[channel].depth - 1  # what it holds now may do, once others hold more
            depths[channel] = self._least(with_depths(network, depths), channel, less, depths[channel])
        return {channel: depth for channel, depth in depths.items() if depth > network.channels[channel].depth}

    def _enough(self, channel: int) -> int | None:
        """Return the smallest depth of one channel with which the network runs, None where it never does."""
        stops = self.network.channels[channel].depth
        for depth in _doubled(stops):
            found = self.reruns.run(with_depths(self.network, {channel: depth}))
            if not found.waiting:
                return self._least(self.network, channel, stops, max(stops + 1, found.channels[channel].fill))
            if found.channels[channel].put - found.channels[channel].taken < depth:
                return None  # it was not this channel that was full
            stops = depth
        return None

    def _least(self, network: Network, channel: int, stops: int, runs: int) -> int:
        """Return the least depth above one that stops, or is none, up to one that runs: more depth never stops a run.

        It is sought from above, where it is as a rule: the greatest fill is what was needed, or a few more.
        """
        step = 1
        while runs - stops > 1:
            middle = max((stops + runs) // 2, runs - step)
            if self.reruns.run(with_depths(network, {channel: middle})).waiting:
                stops = middle
            else:
                runs, step = middle, 2 * step
        return runs


def _doubled(depth: int) -> Iterator[int]:
    while depth < _DEEPEST:
        depth *= 2
        yield depth


def with_depths(network: Network, depths: Mapping[int, int]) -> Network:
    """Return the network with other depths of some channels."""
    channels = [
        replace(channel, depth=depths.get(number, channel.depth)) for number, channel in enumerate(network.channels)
    ]
    return Network(network.hardware, network.units, channels, network.dispatch)
