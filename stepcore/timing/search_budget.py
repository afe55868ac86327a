"""What looking for periods may cost: a share of the run that it would shorten, and half of what it has saved.

All counts are steps of the inner loop, so that a run takes the same course on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SHARE: Final = 10  # of the steps that a run is expected to take, which looking may cost at once; so of those it took
SHARE_WITHIN: Final = 24  # the same for rounds while memory does nothing
_TOKEN: Final = 6  # steps that a token costs
REQUEST: Final = 100  # steps that a request of memory costs
_LOOK: Final = 100  # steps that a look costs, whatever the network
_PART: Final = 5  # steps that it costs for each unit and channel
_STRETCH: Final = 32  # looks that follow each other after the first pause


def expected_steps(tokens: int, requests: int) -> int:
    """Return about how many steps a run of so many tokens and requests of memory takes, if nothing is skipped."""
    return _TOKEN * tokens + REQUEST * requests


@dataclass(slots=True)
class SearchBudget:
    """What has been spent and saved of a run that began with ``start`` steps left.

    ``ahead`` may be spent at once, ``look`` is what remembering a state costs. After it has been used up nothing is
    looked at until there is enough for a stretch of looks; each is twice as long as the last, since a period that was
    not found may be longer. ``wakes`` is how many steps are left then.
    """

    start: int
    ahead: int
    look: int
    share: int
    spent: int = 0
    saved: int = 0
    wakes: int = 0
    stretch: int = 0

    @classmethod
    def of(cls, start: int, expected: int, parts: int, share: int) -> SearchBudget:
        """Return what the search may cost in a run that is expected to take so many steps.

        ``parts`` is how many units and channels it has; ``share`` of its steps may be spent.
        """
        look = _LOOK + _PART * parts
        return cls(start, expected // share, look, share, wakes=start, stretch=_STRETCH * look)

    def allows(self, left: int) -> bool:
        """Return whether another look may be taken when so many steps are left; if not, let a pause begin."""
        if left > self.wakes:
            return False
        if self.rest(left) >= 0:
            return True
        self.wakes = left - self.stretch * self.share
        self.stretch *= 2
        return False

    def rest(self, left: int) -> int:
        """Return what may be spent yet when so many steps of the run are left; less than 0 where it was too much."""
        return self.ahead + (self.start - left) // self.share + self.saved // 2 - self.spent
