"""What a running search learns about its own moves: those that led to values of the reference are likelier later."""

from __future__ import annotations

from collections import Counter
from math import exp, log, log1p
from typing import Final

from stepagents.search.costs import CostModel
from stepagents.search.items import SearchStream

_STRENGTH: Final = 10.0  # observations that the costs given count for
_FLOOR: Final = 0.3  # nats that a move costs at least


class Earned:
    """Corrects the costs of moves as in Bayes' rule, with the costs given as the prior; off, it corrects nothing."""

    def __init__(self, costs: CostModel, on: bool) -> None:
        self._on = on
        moves = [key[0] for key in costs.table if len(key) == 1 and key[0][0].isupper()]
        weights = {move: exp(-costs(move)) for move in moves}
        self._prior = {move: weight / sum(weights.values()) for move, weight in weights.items()}
        self._hits: Counter[str] = Counter()
        self._tries: Counter[str] = Counter()
        self._per_try = costs("tried")
        self._total = 0

    def note(self, item: SearchStream) -> None:
        """Learn from a stream whose values the reference has: the moves since the last such streams were good ones."""
        if not self._on or item.step is None or item.move not in self._prior:
            return
        self._hits[item.move] += 1
        self._total += 1
        for arg in item.step.args:
            source = arg.step.args[0] if arg.move == "broadcast" and arg.step is not None else arg
            if not source.anchored:
                self.note(source)

    def tried(self, move: str) -> None:
        """Count a move that was carried out."""
        self._tries[move] += 1

    def vain(self, move: str) -> float:
        """Return what is added to the cost of a move for all that were in vain."""
        return self._per_try * log1p(self._tries[move] / (1 + self._hits[move])) if self._on else 0.0

    def corrected(self, move: str, cost: float) -> float:
        """Return what ``move`` costs now, where the model says ``cost``."""
        if not self._total or not self._prior.get(move):
            return cost
        prior = self._prior[move]
        change = log(prior * (_STRENGTH + self._total) / (_STRENGTH * prior + self._hits[move]))
        return max(cost + change, min(cost, _FLOOR))
