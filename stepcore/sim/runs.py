"""How many runs what a verdict is worth may take: from the work of one run, and never from time.

A verdict is the same on every processor, and an examination takes a second or so where a run takes little. A run that
takes more than that is repeated a few times all the same, as long as this is no more than some seconds: the first data
that are redrawn tell most.
"""

from __future__ import annotations

from typing import Final

OF_OPERATION: Final = 1 << 13  # numbers that are computed in the time that an operation of few takes
_BUDGET: Final = 1 << 28  # of work (:mod:`stepcore.sim.flow`)
_FEW: Final = 4  # runs of what takes more than a quarter of the budget
_FAR: Final = 16  # budgets that these few may take


def runs_within(work: int) -> int:
    """Return how many runs of ``work`` may be made."""
    work = max(work, 1)
    return max(_BUDGET // work, min(_FEW, _FAR * _BUDGET // work))
