"""What a rewrite is expected to bring at a bottleneck, from optimization memory.

A kernel estimate: each item counts by how like its bottleneck is, and is worth the logarithm of what its change
brought, nothing where that made the program slower. Of a rewrite that no item knows, as much is expected as others
brought at such a bottleneck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Final

from stepagents.experience.optimizations import Bottleneck, Change, OptimizationItem

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
    _known: dict[Bottleneck, dict[Change, float]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for item in self.items:
            self._by_rewrite.setdefault(item.change.rewrite, []).append(item)
        weights = [min(item.count, _COUNTS) for item in self.items]
        gains = [_gain(item) * weight for item, weight in zip(self.items, weights, strict=True)]
        self._mean = sum(gains) / sum(weights) if weights else 0.0

    def __bool__(self) -> bool:
        return bool(self.items)

    def expected(self, bottleneck: Bottleneck, change: Change) -> float:
        """Return the logarithm of the gain that a change is expected to bring, in nats."""
        known = self._known.setdefault(bottleneck, {})
        if change not in known:
            known[change] = self._expected(bottleneck, change)
        return known[change]

    def _expected(self, bottleneck: Bottleneck, change: Change) -> float:
        same = self._by_rewrite.get(change.rewrite)
        gains, weights = _BELIEF * self._mean, _BELIEF
        for item in same or self.items:
            weight = exp(-distance(bottleneck, item.bottleneck)) * min(item.count, _COUNTS)
            weight *= 1.0 if item.change == change or not same else _OTHER
            gains += weight * _gain(item)
            weights += weight
        return gains / weights


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
    if item.after is None or not item.is_faster:
        return 0.0
    return min(log(item.before / item.after), _MOST)
