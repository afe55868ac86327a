"""Pairs of programs that one change lies between: slow-fast ones and fast-slow ones, from which memory is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from stepagents.experience.optimizations import MOST_SEGMENT, Bottleneck, Change, OptimizationItem, merged_by_key
from stepagents.optimize.candidates import FasterText
from stepagents.optimize.features import segment
from stepagents.optimize.lessons import Place, is_number, place_of
from stepagents.optimize.trials import Trial
from stepcore.rewrites import RewriteSite

MODEL: Final = "model"  # the name of what no rewrite of the library did
MOST: Final = 64  # items of one search
_WORTH: Final = 500  # one cycle in so many is a difference


@dataclass
class RewriteChild:
    """A rewrite of a candidate.

    ``bottleneck`` is what holds up the program that it rewrites, ``change`` what it does in words of the language.
    """

    parent: FasterText
    site: RewriteSite
    text: str
    key: str
    bottleneck: Bottleneck
    change: Change

    @property
    def trial(self) -> Trial:
        """What is asked of it."""
        return Trial(self.parent.text, self.text, self.site.retiles)

    @cached_property
    def place(self) -> Place:
        """Where it is rewritten."""
        return place_of(self.site)

    @property
    def is_number(self) -> bool:
        """Whether only numbers are rewritten."""
        return is_number(self.site)

    @property
    def cycles_before(self) -> int:
        """The cycles of the program that it rewrites."""
        return self.parent.figures.cycles

    @property
    def niche(self) -> int:
        """That of the program that it rewrites."""
        return self.parent.niche


@dataclass
class RewritePairs:
    """What came of each candidate of a search, by its text; the exact figure replaces the estimate."""

    found: dict[str, tuple[RewriteChild, int | None]] = field(default_factory=dict)
    model: str = ""  # who wrote what no rewrite did

    def note(self, child: RewriteChild, cycles: int | None) -> None:
        """Remember the cycles of a candidate; None where it has errors or does not run to its end."""
        self.found[child.key] = child, cycles

    def items(self, with_code: bool = False, without: Sequence[str] = ()) -> list[OptimizationItem]:
        """Return the items of all pairs, those that say most first; ``with_code`` keeps the segments that changed.

        ``without`` are rewrites that are not to be remembered: one of their programs was wrong. Of what a model wrote
        only the segment tells something.
        """
        found = merged_by_key(
            self._item(child, cycles, with_code)
            for child, cycles in self.found.values()
            if child.site.rewrite not in without and (child.site.rewrite != MODEL or with_code)
        ).values()
        faster = [each for each in found if each.is_faster]
        slower = [each for each in found if not each.is_faster]
        faster.sort(key=lambda each: (each.after or 0) / each.before)
        slower.sort(key=lambda each: -each.count)
        return [*faster[: MOST // 2], *slower[: MOST // 2]]

    def _item(self, child: RewriteChild, cycles: int | None, with_code: bool) -> OptimizationItem:
        before = max(child.parent.figures.cycles, 1)
        if cycles is not None and abs(cycles - before) * _WORTH < before:
            cycles = before
        if not with_code:
            return OptimizationItem(child.bottleneck, child.change, before, cycles)
        old, new = (part[:MOST_SEGMENT].replace("\0", "") for part in segment(child.parent.text, child.text))
        return OptimizationItem(
            child.bottleneck, child.change, before, cycles, strategy=child.site.sentence[:500], old=old, new=new,
            proposer=self.model if child.site.rewrite == MODEL else "search",
        )  # fmt: skip
