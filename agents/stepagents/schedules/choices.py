"""The ways in which one function can be computed, decided by cycles: some work follows what data say, or all is done.

What follows data (filled rows of caches, experts that rows choose) is timed with drawn ones, and whatever computes
every element is timed beside it, unless its tensors alone take longer to move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepagents.schedules.least import least_cycles
from stepagents.schedules.ragged.attention import drawn_within
from stepagents.schedules.ragged.search import ragged_schedules
from stepagents.schedules.routed.mixture import multiplies_by_choice
from stepagents.schedules.routed.search import routed_schedules
from stepagents.schedules.search import ScheduleOptions, TiledLowering, schedules
from stepcore.records import Record

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction

_Search = Callable[["TracedFunction", ScheduleOptions, Callable[[int], None]], TiledLowering | None]


class _Way(Record):
    """A search that gives None for functions without such work; what its programs, and those beside it, compute.

    ``is_told`` says of which functions a user is told that they have no program of this way.
    """

    search: _Search
    some: str
    every: str
    is_told: Callable[[TracedFunction], bool]


_WAYS: Final = (
    _Way(
        ragged_schedules, "filled rows alone on drawn lengths", "every row of the caches is computed",
        lambda _traced: True,
    ),
    _Way(routed_schedules, "routed on drawn rows", "every row is computed for every expert", multiplies_by_choice),
)  # fmt: skip


def fastest(
    traced: TracedFunction, options: ScheduleOptions, tell: Callable[[int], None] = lambda _tried: None
) -> TiledLowering:
    """Return timed programs, those of the way that takes the fewest cycles first, and the best of the other beside.

    Nothing is verified yet; where a way has no program, ``choice`` says why.
    """
    for way in _WAYS:
        some = way.search(traced, options, tell)
        if some is not None:
            return _decided(way, some, traced, options, tell)
    return schedules(traced, options, tell)


def _decided(
    way: _Way, some: TiledLowering, traced: TracedFunction, options: ScheduleOptions, tell: Callable[[int], None]
) -> TiledLowering:
    """Return programs that do ``some`` of the work, or all of it, whichever take fewer cycles."""
    least = least_cycles(traced, options.chip)
    if some.programs and (cycles := _cycles(some)) <= least:
        alone = f"moving all of its tensors takes {least:,}"
        return replace(some, choice=f"{way.some}: that takes {cycles:,} cycles; where {way.every}, {alone} or more")
    every = schedules(drawn_within(traced), options, lambda tried: tell(some.tried + tried))
    tried = some.tried + every.tried
    if not every.programs:
        return replace(some, tried=tried)
    if not some.programs:
        place = "" if some.line is None else f"line {some.line}: "
        why = f"{way.every}: {place}{some.reason}" if way.is_told(traced) else ""
        return replace(every, tried=tried, choice=_told(why, every))
    return replace(_joined(way, some, every), tried=tried)


def _joined(way: _Way, some: TiledLowering, every: TiledLowering) -> TiledLowering:
    """Return the programs that take fewer cycles, the best of the others beside them, and what both take in words."""
    least, most = _cycles(some), _cycles(every)
    if least <= most:
        first, second = some, every
        told = f"{way.some}: that takes {least:,} cycles, where {way.every} {most:,}"
    else:
        first, second = every, some
        told = f"{way.every}: that takes {most:,} cycles, {way.some} {least:,}"
    others = [*second.programs[:1], *first.others]
    return replace(first, others=others, choice=_told(told, first))


def _cycles(found: TiledLowering) -> int:
    """Return the cycles of the best program."""
    return found.programs[0].cycles or 0


def _told(text: str, found: TiledLowering) -> str:
    """Return what is said of the ways, and then what was chosen among the programs of one."""
    return "; ".join(filter(None, [text, found.choice]))
