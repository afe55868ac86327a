"""In which order candidates are tried: those of which memory expects most first, the others when those bring nothing.

Numbers come before what changes the structure of a program: another number can be written again, but what was put into
lanes cannot be taken out of them, and its tiles may then not grow any more. Without items nothing is put off, and the
order is that of the rewrites and the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Final, Generic, Protocol, TypeVar

from stepagents.experience.optimizations import Bottleneck, Change
from stepagents.optimize.lessons import Place
from stepagents.optimize.prior import RewritePrior

_SHARE: Final = 0.5  # of the probability of all candidates that is tried at once
_AT_ONCE: Final = 4  # candidates, at most
_BETTER: Final = 6  # how much half the cycles are preferred, as a power of two
_LEAST: Final = 1e-9  # nats that are expected of each change at least, so that none is given up
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


C = TypeVar("C", bound=Expected)


@dataclass
class CandidateOrder(Generic[C]):
    """The candidates that were not tried yet; the same candidates come out in the same order."""

    prior: RewritePrior = field(default_factory=RewritePrior)
    waiting: list[C] = field(default_factory=list)

    def add(self, candidates: Sequence[C]) -> None:
        """Take further candidates."""
        self.waiting += candidates

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
        """Return P(rewrite, parameters | bottleneck) of what waits, weighted by how fast it is expected to make its
        program.

        So what is expected to bring much to a program that is no longer the best comes before what brings that nothing.
        """
        gains = [self._gain(each) for each in self.waiting]
        cycles = [each.cycles_before * exp(-gain) for each, gain in zip(self.waiting, gains, strict=True)]
        least = min(cycles, default=1.0)
        weights = [gain * (least / expected) ** _BETTER for gain, expected in zip(gains, cycles, strict=True)]
        total = sum(weights)
        return [weight / total for weight in weights]

    def _gain(self, candidate: C) -> float:
        """Return the nats that are expected of a candidate."""
        expected = self.prior.expected(candidate.bottleneck, candidate.change, candidate.place)
        return max(expected, _LEAST) * (1.0 if candidate.is_number else _STRUCTURE)
