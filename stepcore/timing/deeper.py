"""What a deeper FIFO saves: runs of a network with other depths of one channel, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from stepcore.timing.exact import Timing, TooLong
from stepcore.timing.network import Network
from stepcore.timing.stops import Reruns, with_depths

_TRIED: Final = 3  # channels, those first whose producers wait longest for room
_DEEPEST: Final = 1 << 16  # tokens


@dataclass(frozen=True, slots=True)
class Saving:
    """With ``depth`` of ``channel`` a run takes so many ``cycles`` less; no other that was tried saves more."""

    channel: int
    depth: int
    cycles: int


def saving(network: Network, timing: Timing, channels: Sequence[int], *, limit: int) -> Saving | None:
    """Return what one of ``channels``, being deeper, saves most of a run that came to its end; None where none does.

    Of equal ones it is the shallowest depth. Work is bounded by ``limit`` instructions of units in all runs together:
    what is not found within them is not told.
    """
    producers, _ = network.ends()
    full = [f for f in channels if timing.channels[f].fill >= timing.channels[f].depth and producers[f] >= 0]
    waiting = sorted(full, key=lambda f: (-timing.units[producers[f]].blocked, f))
    savings = _Savings(network, timing, Reruns(limit))
    found: list[Saving] = []
    try:
        for channel in waiting[:_TRIED]:
            if timing.units[producers[channel]].blocked and (better := savings.best(channel)) is not None:
                found.append(better)
    except TooLong:
        pass  # what was found until then is true all the same
    return max(found, key=lambda each: (each.cycles, -each.depth), default=None)


@dataclass(slots=True)
class _Savings:
    network: Network
    timing: Timing
    reruns: Reruns

    def best(self, channel: int) -> Saving | None:
        """Return the most that depths of ``channel`` save, with the smallest depth that does.

        With memory or arrival in between, less depth may save more than unlimited depth does.
        """
        shallow, tokens = self.network.channels[channel].depth, self.timing.channels[channel].put
        deep = min(tokens, _DEEPEST)
        least = self._cycles(channel, deep) if deep > shallow else self.timing.cycles
        if least >= self.timing.cycles:
            return None
        while deep - shallow > 1:
            middle = (shallow + deep) // 2
            cycles = self._cycles(channel, middle)
            if cycles <= least:
                deep, least = middle, cycles
            else:
                shallow = middle
        return Saving(channel, deep, self.timing.cycles - least)

    def _cycles(self, channel: int, depth: int) -> int:
        return self.reruns.run(with_depths(self.network, {channel: depth})).cycles
