"""Which experience is used as demonstrations: strata by how hard it was earned, taken in one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise

from stepcore.jobdata.writing import Experience


class Selection(StrEnum):
    """How demonstrations are chosen: the hardest-earned first and then more and more, all at once, or none."""

    ADAPTIVE = "adaptive"
    ALL = "all"
    NONE = "none"


def strata(experiences: Sequence[Experience], granularity: int) -> list[list[Experience]]:
    """Split into at most ``granularity`` strata of nearly equal size, the hardest-earned first; none is empty.

    Where success rates are equal, what took more tokens counts as harder, and then the longer program.

    Raises:
        ValueError: ``granularity`` is less than 1.
    """
    if granularity < 1:
        raise ValueError("there must be at least one stratum")
    ordered = sorted(experiences, key=lambda e: (e.success_rate, -e.tokens, -len(e.impl), e.task, e.impl))
    count = min(granularity, len(ordered))
    edges = [round(i * len(ordered) / count) for i in range(count + 1)] if count else []
    return [ordered[start:stop] for start, stop in pairwise(edges)]


def selections(experiences: Sequence[Experience], granularity: int, selection: Selection) -> list[list[Experience]]:
    """Return the demonstrations of every stage of one round, in order. There is always at least one stage."""
    if selection is Selection.NONE or not experiences:
        return [[]]
    parts = strata(experiences, granularity if selection is Selection.ADAPTIVE else 1)
    return [[item for part in parts[: j + 1] for item in part] for j in range(len(parts))]
