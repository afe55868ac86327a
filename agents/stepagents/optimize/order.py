"""In which order candidates are tried: those of which memory expects most first, the others when those bring nothing.

What counts is the expected improvement (as in Bayesian optimization): of what a change may bring to a program only what
makes it better than the best of its niche (:mod:`stepagents.optimize.opening`): lanes may be best at once and end in a
dead end, and what was not put into lanes is not given up for that.

Numbers come before what changes the structure of a program: another number can be written again, but what was put into
lanes cannot be taken out of them, and its tiles may then not grow any more. Without items nothing is put off, and the
order is that of the rewrites and the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final, Generic, Protocol, TypeVar

from stepagents.experience.optimizations import Bottleneck, Change
from stepagents.optimize.candidates import NicheBests
from stepagents.optimize.lessons import Place
from stepagents.optimize.prior import RewritePrior

_SHARE: Final = 0.5  # of the probability of all candidates that is tried at once
_AT_ONCE: Final = 4  # candidates, at most
_LEAST: Final = 1e-12  # nats that are expected of each change at least, so that none is given up
_STRUCTURE: Final = 0.5  # of what is expected of a change that no other rewrite takes back


class Expected(Protocol):
    """A candidate: what it does to which program, and what holds that program up."""

    @property
    def bottleneck(self) -> Bottleneck:
        """What holds up the program that is changed."""
        ...

    @property
    def change(self) -> Change:
        """What is done to it."""
        ...

    @property
    def place(self) -> Place:
        """Where it is done."""
        ...

    @property
    def is_number(self) -> bool:
        """Whether it only writes other numbers."""
        ...

    @property
    def cycles_before(self) -> int:
        """Those of the program that is changed."""
        ...

    @property
    def niche(self) -> int:
        """That of the program that is changed."""
        ...


C = TypeVar("C", bound=Expected)


@dataclass
class CandidateOrder(Generic[C]):
    """The candidates that were not tried yet; the same candidates come out in the same order."""

    prior: RewritePrior = field(default_factory=RewritePrior)
    waiting: list[C] = field(default_factory=list)
    _bests: NicheBests = field(default_factory=NicheBests, init=False)

    def add(self, candidates: Sequence[C]) -> None:
        """Take further candidates."""
        self.waiting += candidates
        for each in candidates:
            self._bests.note(each.niche, each.cycles_before)

    def take(self) -> list[C]:
        """Return the candidates to try next, the likeliest first; without items all that there are."""
        if not self.prior:
            taken, self.waiting = self.waiting, []
            return taken
        shares = self.shares()
        order = sorted(range(len(shares)), key=lambda index: (-shares[index], index))
        count, share = 0, 0.0
        while count < min(len(order), _AT_ONCE) and share < _SHARE:
            share += shares[order[count]]
            count += 1
        chosen = order[:count]
        taken = [self.waiting[index] for index in chosen]
        self.waiting = [self.waiting[index] for index in sorted(order[count:])]
        return taken

    def shares(self) -> list[float]:
        """Return by how much what waits is expected to be better than the best of its niche, as shares of 1."""
        weights = [self._improvement(each) for each in self.waiting]
        total = sum(weights)
        return [weight / total for weight in weights]

    def _improvement(self, candidate: C) -> float:
        """Return the nats by which a candidate is expected to be better than the best program of its niche."""
        behind = log(self._bests.beside(candidate.niche, candidate.cycles_before))
        expected = self.prior.expected(candidate.bottleneck, candidate.change, candidate.place, behind)
        return max(expected, _LEAST) * (1.0 if candidate.is_number else _STRUCTURE)
