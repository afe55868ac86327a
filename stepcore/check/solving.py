"""Sizes at which two numbers that a program compares meet, found from how far apart they are at sizes that were tried.

``2 * M_value == 26`` names no number near 13. But the two sides are 16 apart at M = 5 and 14 at M = 6, so they meet at
13: along each size the distance is followed to its zero, by the secant and, between two signs, by halves. Where a
comparison is reached only elsewhere (``M_value == 13 and N_value == 20``), it is followed from there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from typing import Final, TypeAlias

# A place in the text where two numbers are compared, and how far apart they are; None: in several ways.
Place: TypeAlias = tuple[int, int, int]
Gaps: TypeAlias = Mapping[Place, int | None]
_Point: TypeAlias = tuple[int, ...]

_MOST_PLACES: Final = 12  # comparisons that are followed
_MOST_STEPS: Final = 12  # along one size, for one of them


class SizeMeeting:
    """Proposes sizes for a program, one at a time; :meth:`met` tells what came of them."""

    def __init__(self, sizes: Mapping[str, int], largest: int) -> None:
        self._names = tuple(sizes)
        self._largest = largest
        self._known: dict[_Point, Gaps] = {}
        self._first: dict[Place, _Point] = {}  # where a comparison was reached first
        self._proposed: set[_Point] = set()

    def met(self, sizes: Mapping[str, int], gaps: Gaps) -> None:
        """Note what the program compares at ``sizes``."""
        point = tuple(sizes[name] for name in self._names)
        self._known[point] = gaps
        self._proposed.add(point)
        for place in islice(gaps, _MOST_PLACES):
            if len(self._first) < _MOST_PLACES:
                self._first.setdefault(place, point)

    def propose(self) -> dict[str, int] | None:
        """Return sizes that were not proposed before, None where there is nothing to follow."""
        for place, start in self._first.items():
            for axis in range(len(self._names)):
                for size in _next(self._along(place, start, axis), start[axis]):
                    point = (*start[:axis], size, *start[axis + 1 :])
                    if 1 <= size <= self._largest and point not in self._proposed:
                        self._proposed.add(point)
                        return dict(zip(self._names, point, strict=True))
        return None

    def _along(self, place: Place, start: _Point, axis: int) -> dict[int, int]:
        """Return the distances that are known where only one size differs from ``start``."""
        found: dict[int, int] = {}
        for point, gaps in self._known.items():
            gap = gaps.get(place)
            if gap is not None and all(a == b for i, (a, b) in enumerate(zip(point, start, strict=True)) if i != axis):
                found[point[axis]] = gap
        return found


def _next(known: Mapping[int, int], start: int) -> Iterator[int]:
    """Yield sizes at which the distance is likely 0, or no longer 0; nothing once that is known."""
    if len(known) > _MOST_STEPS:
        return
    yield start + 1
    zeros = [size for size, gap in known.items() if gap == 0]
    if zeros:
        yield from (zeros[0] + 1, zeros[0] - 1)
        return
    sizes = sorted(known)
    for left, right in pairwise(sizes):
        if (known[left] < 0) != (known[right] < 0) and right - left > 1:
            whole = left + (right - left) * abs(known[left]) // (abs(known[left]) + abs(known[right]))
            yield from (min(max(whole, left + 1), right - 1), min(max(whole + 1, left + 1), right - 1))
            yield (left + right) // 2
            return
    near = sorted(sizes, key=lambda size: abs(known[size]))
    other = next((size for size in near[1:] if known[size] != known[near[0]]), None)
    if other is not None:
        slope = known[other] - known[near[0]]
        meeting = near[0] - known[near[0]] * (other - near[0]) // slope
        yield from (meeting, meeting + 1, meeting - 1)
