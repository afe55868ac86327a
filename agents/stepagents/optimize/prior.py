"""What a rewrite is expected to bring at a bottleneck, from optimization memory.

A kernel estimate: each item counts by how like its bottleneck is, and is worth the logarithm of what its change
brought, nothing where that made the program slower. Of a rewrite that no item knows, as much is expected as others
brought at such a bottleneck. What the search itself has tried counts beside
the items (:mod:`stepagents.optimize.lessons`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log
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
    _known: dict[Bottleneck, dict[Change, tuple[float, float]]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._lessons = SearchLessons(distance)
        for item in self.items:
            self._by_rewrite.setdefault(item.change.rewrite, []).append(item)
        weights = [min(item.count, _COUNTS) for item in self.items]
        gains = [_gain(item) * weight for item, weight in zip(self.items, weights, strict=True)]
        self._mean = sum(gains) / sum(weights) if weights else 0.0

    def __bool__(self) -> bool:
        return bool(self.items)

    def expected(self, bottleneck: Bottleneck, change: Change, place: Place | None = None) -> float:
        """Return the logarithm of the gain that a change is expected to bring, in nats.

        ``place`` is where: with it what this search has seen counts, too. Nothing is expected of what failed there.
        """
        known = self._known.setdefault(bottleneck, {})
        if change not in known:
            known[change] = self._evidence(bottleneck, change)
        gains, weights = known[change]
        if place is None:
            return gains / weights
        if self._lessons.has_failed(place):
            return 0.0
        own, counts = self._lessons.evidence(bottleneck, change, place)
        return (gains + own) / (weights + counts)

    def learn(self, bottleneck: Bottleneck, change: Change, place: Place, before: int, cycles: int | None) -> None:
        """Take in what a change made of ``before`` cycles; None where nothing came of it."""
        if self:
            gain = None if cycles is None else _logarithm(max(before, 1), max(cycles, 1))
            self._lessons.note(bottleneck, change, place, gain)

    def _evidence(self, bottleneck: Bottleneck, change: Change) -> tuple[float, float]:
        same = self._by_rewrite.get(change.rewrite)
        gains, weights = _BELIEF * self._mean, _BELIEF
        for item in same or self.items:
            weight = exp(-distance(bottleneck, item.bottleneck)) * min(item.count, _COUNTS)
            weight *= 1.0 if item.change == change or not same else _OTHER
            gains += weight * _gain(item)
            weights += weight
        return gains, weights


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
