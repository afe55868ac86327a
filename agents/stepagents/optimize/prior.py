"""What a rewrite is expected to bring at a bottleneck, from optimization memory.

A kernel estimate of a distribution: each item counts by how like its bottleneck is, and is worth the logarithm of what
its change brought, nothing where that made the program slower. Asked is the expected improvement, the mean of what is
brought beyond so much; what is expected without any item is distributed exponentially. Of a rewrite that no item knows,
as much is expected as others brought at such a bottleneck. What the search itself has tried counts beside the items
(:mod:`stepagents.optimize.lessons`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import exp, log
from operator import itemgetter
from typing import Final

from stepagents.experience.optimizations import Bottleneck, Change, OptimizationItem
from stepagents.optimize.lessons import Place, SearchLessons

_RULES: Final = 1.0  # how far apart two bottlenecks are that different terms rule
_UNIT: Final = 0.5
_AROUND: Final = 0.5  # times the share of kinds that only one of them has
_POWERS: Final = 0.25  # for each power of two
_FAR: Final = 2.0  # of one ratio, at most
_OTHER: Final = 0.25  # what an item of the same rewrite with other parameters counts
_BELIEF: Final = 0.5  # items for what is expected without any
_MOST: Final = log(16.0)  # of what an item is worth: one that stopped is no endless gain
_COUNTS: Final = 8  # pairs of one item that count


@dataclass
class RewritePrior:
    """Expectations from items; false without any."""

    items: Sequence[OptimizationItem] = ()
    _by_rewrite: dict[str, list[OptimizationItem]] = field(init=False, default_factory=dict)
    _known: dict[Bottleneck, dict[Change, Gains]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._lessons = SearchLessons(distance)
        for item in self.items:
            self._by_rewrite.setdefault(item.change.rewrite, []).append(item)
        weights = [min(item.count, _COUNTS) for item in self.items]
        gains = [_gain(item) * weight for item, weight in zip(self.items, weights, strict=True)]
        self._mean = sum(gains) / sum(weights) if weights else 0.0

    def __bool__(self) -> bool:
        return bool(self.items)

    def expected(
        self, bottleneck: Bottleneck, change: Change, place: Place | None = None, beyond: float = 0.0
    ) -> float:
        """Return how much more than a gain ``beyond`` a change is expected to bring, both as logarithms, in nats.

        ``place`` is where: with it what this search has seen counts, too. Nothing is expected of what failed there.
        """
        known = self._known.setdefault(bottleneck, {})
        if change not in known:
            known[change] = self._evidence(bottleneck, change)
        found = known[change]
        more, weights = found.beyond(beyond), found.weight
        if place is not None:
            if self._lessons.has_failed(place):
                return 0.0
            for weight, gain in self._lessons.evidence(bottleneck, change, place):
                more += weight * max(gain - beyond, 0.0)
                weights += weight
        believed = self._mean * exp(-beyond / self._mean) if self._mean else 0.0
        return (_BELIEF * believed + more) / (_BELIEF + weights)

    def learn(self, bottleneck: Bottleneck, change: Change, place: Place, before: int, cycles: int | None) -> None:
        """Take in what a change made of ``before`` cycles; None where nothing came of it."""
        if self:
            gain = None if cycles is None else _logarithm(max(before, 1), max(cycles, 1))
            self._lessons.note(bottleneck, change, place, gain)

    def _evidence(self, bottleneck: Bottleneck, change: Change) -> Gains:
        same = self._by_rewrite.get(change.rewrite)
        return Gains((self._weight(bottleneck, change, item, same), _gain(item)) for item in same or self.items)

    @staticmethod
    def _weight(
        bottleneck: Bottleneck, change: Change, item: OptimizationItem, same: Sequence[OptimizationItem] | None
    ) -> float:
        """Return what an item counts; other parameters make it count less, where the ``same`` rewrite has items."""
        alike = 1.0 if not same or item.change == change else _OTHER
        return exp(-distance(bottleneck, item.bottleneck)) * min(item.count, _COUNTS) * alike


class Gains:
    """Gains with their weights, in nats: how much is beyond a gain is found by one look-up."""

    def __init__(self, weighted: Iterable[tuple[float, float]]) -> None:
        largest_first = sorted(weighted, key=itemgetter(1), reverse=True)
        self._gains = [-gain for _, gain in largest_first]
        self._weights = [0.0, *accumulate(weight for weight, _ in largest_first)]
        self._sums = [0.0, *accumulate(weight * gain for weight, gain in largest_first)]

    @property
    def weight(self) -> float:
        """The sum of all weights."""
        return self._weights[-1]

    def beyond(self, gain: float) -> float:
        """Return the weighted sum of what gains have beyond one."""
        larger = bisect_left(self._gains, -gain)
        return self._sums[larger] - gain * self._weights[larger]


def fitting(items: Sequence[OptimizationItem], bottleneck: Bottleneck, most: int) -> list[OptimizationItem]:
    """Return the items whose bottlenecks are most like this one, the likest first."""
    return sorted(items, key=lambda item: (distance(bottleneck, item.bottleneck), -_gain(item), item.key))[:most]


def distance(one: Bottleneck, other: Bottleneck) -> float:
    """Return how far apart two bottlenecks are; 0 for equal ones."""
    both, either = {*one.around} & {*other.around}, {*one.around} | {*other.around}
    ratios = (
        (one.busy, other.busy), (one.reuse, other.reuse), (one.room, other.room), (one.spare, other.spare),
        (one.above, other.above),
    )  # fmt: skip
    return (
        _RULES * (one.rules != other.rules)
        + _UNIT * (one.unit != other.unit)
        + (_AROUND * (1 - len(both) / len(either)) if either else 0.0)
        + sum(min(_POWERS * abs(mine - its), _FAR) for mine, its in ratios)
    )


def _gain(item: OptimizationItem) -> float:
    return 0.0 if item.after is None else _logarithm(item.before, item.after)


def _logarithm(before: int, after: int) -> float:
    return min(max(log(before / after), 0.0), _MOST)
