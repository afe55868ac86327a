"""Which programs are rewritten further, where memory guides: the best, and those that are nearly as good.

What is best at first often ends in a dead end: lanes and parts of folds cannot be taken back, and tiles may then not
grow any more. So a program is compared with those in which as many such changes were made (the niches of
quality-diversity search), and each niche goes on as long as the search does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from stepagents.optimize.candidates import FasterText, NicheBests
from stepcore.jobdata.optimizing import Figures

_WIDTH: Final = 2  # programs that are rewritten further after each few candidates
_NEAR: Final = 1.25  # times the fewest cycles of a niche: what takes more is only taken when nothing else is left
_ALIKE: Final = 2  # programs of one cost are rewritten further: most are one change at places that are alike


@dataclass
class OpenPrograms:
    """The programs that were found and not rewritten yet, and which of them come next."""

    _open: list[FasterText] = field(default_factory=list, init=False)
    _alike: Counter[Figures] = field(default_factory=Counter, init=False)
    _bests: NicheBests = field(default_factory=NicheBests, init=False)

    def add(self, found: Iterable[FasterText]) -> None:
        """Take programs that were timed."""
        for each in found:
            self._open.append(each)
            self._bests.note(each.niche, each.figures.cycles)

    def take(self, *, at_least_one: bool) -> list[FasterText]:
        """Return the programs to rewrite next, nearest to the best of their niches first; at most two."""
        taken: list[FasterText] = []
        left: list[FasterText] = []
        for each in sorted(self._open, key=self._rank):
            if self._alike[each.figures] >= _ALIKE:
                continue
            is_wanted = self._beside_best(each) <= _NEAR or (at_least_one and not taken)
            if is_wanted and len(taken) < _WIDTH:
                self._alike[each.figures] += 1
                taken.append(each)
            else:
                left.append(each)
        self._open = left
        return taken

    def _rank(self, candidate: FasterText) -> tuple[float, int, int]:
        return self._beside_best(candidate), *candidate.cost

    def _beside_best(self, candidate: FasterText) -> float:
        return self._bests.beside(candidate.niche, candidate.figures.cycles)
