"""What a search has seen itself: what came of a change that can be made in many of its texts.

A text differs from the one before by one rewrite, so most changes can be made in many texts of a search. What one
brought in this program says more of it than what it brought in others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import exp
from typing import Final

from stepagents.experience.optimizations import Bottleneck, Change
from stepcore.records import Record
from stepcore.rewrites import RewriteSite

_HERE: Final = 4.0  # what a change at the same place counts
_ELSEWHERE: Final = 1.0  # the same change at another place
_OTHER: Final = 0.25  # the same rewrite with other parameters
_NEARER: Final = 0.5  # bottlenecks of one program are nearer to each other than they look


class Place(Record):
    """Where a program is changed: ``exact`` with the numbers that are written there, ``named`` without them."""

    exact: tuple[str, ...] = ()
    named: tuple[str, ...] = ()


class Lesson(Record):
    """What a change at a place brought, in nats; nothing where the program became slower."""

    bottleneck: Bottleneck
    change: Change
    named: tuple[str, ...]
    gain: float


@dataclass
class SearchLessons:
    """What came of the candidates of one search, by rewrite; ``distance`` says how far apart bottlenecks are."""

    distance: Callable[[Bottleneck, Bottleneck], float]
    _lessons: dict[str, list[Lesson]] = field(init=False, default_factory=dict)
    _failed: set[tuple[str, ...]] = field(init=False, default_factory=set)

    def note(self, bottleneck: Bottleneck, change: Change, place: Place, gain: float | None) -> None:
        """Remember what a change brought; None where the text had errors, or did not run to its end."""
        if gain is None:
            self._failed.add(place.exact)
        self._lessons.setdefault(change.rewrite, []).append(Lesson(bottleneck, change, place.named, gain or 0.0))

    def has_failed(self, place: Place) -> bool:
        """Whether exactly this made a text that was of no use."""
        return place.exact in self._failed

    def evidence(self, bottleneck: Bottleneck, change: Change, place: Place) -> Iterator[tuple[float, float]]:
        """Yield what counts of like changes, and what they brought, in nats."""
        for each in self._lessons.get(change.rewrite, ()):
            same = _HERE if each.named == place.named else _ELSEWHERE
            weight = exp(-_NEARER * self.distance(bottleneck, each.bottleneck))
            yield weight * (same if each.change == change else _OTHER), each.gain


def place_of(site: RewriteSite) -> Place:
    """Return where a site changes its program."""
    words = [word for name, value in site.params for word in (name, "" if value.isdecimal() else value)]
    exact = [word for pair in site.params for word in pair]
    where = () if is_number(site) else (site.sentence,)  # of parts of a program that have no names
    return Place((site.rewrite, *exact, *where), (site.rewrite, *words))


def is_number(site: RewriteSite) -> bool:
    """Whether a site only writes other numbers, so that the next rewrite can take it back."""
    return all(edit.text.isdecimal() for edit in site.edits)
