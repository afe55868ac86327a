"""The learning loop over programs: a few candidates for each, remember what changes brought, go on from the best.

The counterpart of :mod:`stepagents.improve`, with optimization memory for demonstrations. An item orders candidates
and costs no tokens, so there are no strata: each search is guided by all items that are known when it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf

from stepagents.improve import Ended
from stepagents.optimize.candidates import FasterText, OptimizeStep
from stepagents.optimize.outcome import Optimized
from stepcore.jobdata.optimizing import Figures
from stepcore.records import Record


class Turn(Record):
    """What one search brought; ``new`` items were not known when it began."""

    outcome: Optimized
    new: int


@dataclass(slots=True)
class ProgramStanding:
    """How one program stands: what was tried so far, and the best that was verified.

    ``text`` is that of its file with the best. ``first`` are the figures of the program as it was, None where it
    stopped, and ``steps`` all that led to the best. It is ``settled`` once a search from it came to its own end and
    made nothing faster.
    """

    path: str
    name: str
    text: str
    first: Figures | None = None
    steps: tuple[OptimizeStep, ...] = ()
    best: FasterText | None = None
    bound: int | None = None
    rounds: int = 0
    tried: int = 0
    learned: int = 0
    seconds: float = 0.0
    problem: str = ""
    settled: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it can still be made faster, as far as is known."""
        return not (self.settled or self.problem)


@dataclass
class ProgramRounds:
    """One run of the loop. Iterate over :meth:`run`; afterwards ``ended`` says why it is over.

    ``turn`` makes one search from a standing's text in a round (from 0) with ``candidates`` at most, and remembers what
    it learned. The loop is a function of what turns return: where these are replayed, so is it.
    """

    standings: Sequence[ProgramStanding]
    turn: Callable[[ProgramStanding, int], Turn]
    is_stopped: Callable[[], bool]
    candidates: int
    rounds: int = 20
    most: float = inf  # candidates of the whole run
    ended: Ended | None = field(default=None, init=False)

    def run(self) -> Iterator[tuple[int, ProgramStanding, Turn]]:
        """Yield each turn with its round."""
        for number in range(self.rounds):
            is_new = False
            for standing in self.standings:
                if standing.is_open and not self._is_over():
                    turn = self.turn(standing, number)
                    is_new |= self._count(standing, turn)
                    yield number, standing, turn
            if self._is_over():
                return
            if not is_new or not any(each.is_open for each in self.standings):
                self.ended = Ended.NOTHING_NEW
                return
        self.ended = Ended.ROUNDS

    def _is_over(self) -> bool:
        if self.ended is None and self.is_stopped():
            self.ended = Ended.INTERRUPTED
        if self.ended is None and sum(each.tried for each in self.standings) >= self.most:
            self.ended = Ended.BUDGET
        return self.ended is not None

    def _count(self, standing: ProgramStanding, turn: Turn) -> bool:
        """Add a turn to how its program stands; return whether it brought anything."""
        outcome = turn.outcome
        if not standing.rounds:
            standing.first = outcome.old
        standing.rounds += 1
        standing.tried += outcome.tried
        standing.learned += turn.new
        standing.seconds += outcome.seconds
        standing.problem = outcome.problem
        standing.bound = outcome.bound
        if outcome.best is None:
            return False
        standing.settled = not outcome.is_faster and not outcome.interrupted and outcome.tried < self.candidates
        standing.best, standing.text = outcome.best, outcome.best.text
        standing.steps += outcome.best.steps
        return outcome.is_faster or bool(turn.new)
