"""The programs beside the fastest one: fewer bytes on chip for more cycles, no two of which one is better in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log
from typing import Final, TypeVar

from stepagents.schedules.programs import Tiled

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
    best: Tiled,
    ranked: Sequence[tuple[int, Tiled]],
    count: int,
    time: Callable[[Sequence[Tiled]], Sequence[tuple[int, Tiled]]],
) -> list[Tiled]:
    """Return at most ``count`` programs that need fewer bytes on chip than ``best``, the fewest cycles first.

    ``ranked`` are all programs with their cycles in closed form, from which those are chosen that ``time`` gets.
    """
    if count < 1 or best.cycles is None:
        return []
    own = next(cycles for cycles, program in ranked if program is best)
    likely = [item for item in ranked if item[1].estimated_bytes < best.estimated_bytes and item[0] <= _SLOWEST * own]
    candidates = front([(own, best), *likely], lambda item: item[0], lambda item: item[1].estimated_bytes)
    candidates = [(own, best), *(item for item in candidates if item[1] is not best)]
    tried = spread(candidates, _TIMED * count, lambda item: item[1].estimated_bytes)
    timed = [(best.cycles, best), *time([program for _, program in tried])]
    sizes = {id(program): program.metrics.on_chip.value for _, program in timed}
    known = [(cycles, program) for cycles, program in timed if sizes[id(program)] is not None]
    found = front(known, lambda item: item[0], lambda item: sizes[id(item[1])] or 0)
    if not found or found[0][1] is not best:
        found = [(best.cycles, best), *(item for item in found if item[0] >= best.cycles and item[1] is not best)]
    return [program for _, program in spread(found, count, lambda item: sizes[id(item[1])] or 0)]
