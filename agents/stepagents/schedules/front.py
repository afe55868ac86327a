"""The programs beside the fastest one: fewer bytes on chip for more cycles, no two of which one is better in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Final, TypeVar

from stepagents.schedules.programs import Tiled
from stepagents.schedules.ranking import TimedPoint

_T = TypeVar("_T")
_TIMED: Final = 2  # programs that are timed for each one that is wanted: the closed form is not exact
_SLOWEST: Final = 16  # times the cycles of the fastest: what takes longer is no choice


def front(items: Sequence[_T], cycles: Callable[[_T], int], kept: Callable[[_T], int]) -> list[_T]:
    """Return the items of which no other has as few cycles and as few bytes, the fewest cycles first."""
    found: list[_T] = []
    for item in sorted(items, key=lambda each: (cycles(each), kept(each))):
        if not found or kept(item) < kept(found[-1]):
            found.append(item)
    return found


def spread(items: Sequence[_T], count: int, kept: Callable[[_T], int]) -> list[_T]:
    """Return ``count`` items of a front, the one of fewest bytes among them, by about equal factors of bytes apart.

    The first one is where the factors count from, and is not among them.
    """
    if not items or count < 1:
        return []
    most, rest = log(max(kept(items[0]), 1)), list(items[1:])
    least = log(max(kept(items[-1]), 1))
    chosen: list[_T] = []
    for number in range(count, 0, -1):
        wanted = most + (least - most) * number / count
        if rest:
            nearest = min(rest, key=lambda each: abs(log(max(kept(each), 1)) - wanted))
            chosen.insert(0, nearest)
            rest = rest[: rest.index(nearest)]
    return chosen


def smaller(
    best: TimedPoint[_T],
    ranked: Sequence[TimedPoint[_T]],
    count: int,
    time: Callable[[Sequence[TimedPoint[_T]]], Sequence[TimedPoint[_T]]],
) -> list[Tiled]:
    """Return at most ``count`` programs that need fewer bytes on chip than ``best``, the fewest cycles first.

    ``ranked`` are all programs with their cycles in closed form, from which those are chosen that ``time`` gets.
    """
    if count < 1:
        return []
    own = next(item for item in ranked if item.program is best.program)
    most, slowest = own.program.estimated_bytes, _SLOWEST * own.cycles
    likely = [item for item in ranked if item.program.estimated_bytes < most and item.cycles <= slowest]
    candidates = [own, *(item for item in front([own, *likely], _cycles, _estimated) if item is not own)]
    timed = [best, *time(spread(candidates, _TIMED * count, _estimated))]
    sizes = {id(item.program): item.program.metrics.on_chip.value for item in timed}

    def kept(item: TimedPoint[_T]) -> int:
        return sizes[id(item.program)] or 0

    found = front([item for item in timed if sizes[id(item.program)] is not None], _cycles, kept)
    if not found or found[0] is not best:
        found = [best, *(item for item in found if item.cycles >= best.cycles and item is not best)]
    return [item.program for item in spread(found, count, kept)]


def _cycles(item: TimedPoint[_T]) -> int:
    return item.cycles


def _estimated(item: TimedPoint[_T]) -> int:
    return item.program.estimated_bytes
