"""What a move costs: ``-log P(move | context)``, from a table that learning can refit.

A context is looked up from the most to the least specific key: ``(move, kind of what it is applied to)``, then
``(move,)``. Moves and contexts are names of operators and of macro moves, never of functions or tasks.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

Key: TypeAlias = tuple[str, ...]

LEAST: Final = 0.05  # of one move, whatever was learned

# Set by hand on the tuning half of the task sets; units are nats.
DEFAULT_TABLE: Final[Mapping[Key, float]] = {
    ("Map",): 0.8,
    ("Accum",): 1.0,
    ("Accum", "Scan"): 0.6,
    ("AccumAll",): 2.2,
    ("AccumOne",): 5.0,
    ("Scan",): 2.2,
    ("ScanAll",): 2.8,
    ("Bufferize",): 1.2,
    ("Bufferize", "Bufferize"): 4.0,
    ("Bufferize", "Streamify"): 2.5,
    ("BufferizeAll",): 3.0,
    ("Streamify",): 1.3,
    ("Streamify", "Bufferize"): 6.0,
    ("Streamify", "BufferizeAll"): 6.0,
    ("Streamify", "selectors"): 0.3,
    ("Rebuffer",): 2.0,
    ("Promote",): 5.0,
    ("Flatten",): 4.5,
    ("FlattenOne",): 0.8,
    ("FlattenKnown",): 2.5,
    ("Reshape",): 6.0,
    ("ReshapeKnown",): 3.0,
    ("Repeat",): 5.0,
    ("RepeatRef",): 4.0,
    ("Zip",): 1.5,
    ("Partition",): 1.2,
    ("Merge",): 0.4,
    ("broadcast",): 0.4,
    ("stash",): 0.9,
    ("reuse",): 0.7,
    ("same argument twice",): 0.8,
    ("further argument",): 0.3,
    ("not wanted",): 4.0,
    ("wrong branch",): 2.5,
    ("anchor",): 0.4,
    ("no anchor",): 0.7,
    ("empty",): 0.5,
    ("no room",): 0.8,
    ("tried",): 0.3,
    ("consumed",): 0.4,
    ("end",): 0.5,
}


_STRAYING: Final = frozenset({("no anchor",), ("no room",), ("consumed",), ("wrong branch",)})


@dataclass(frozen=True)
class CostModel:
    """Costs of moves: what the table says, and what experience adds to it under ``(move,)`` and ``(move, trait)``.

    Traits are those of :func:`stepagents.search.traits.move_traits`.
    """

    table: Mapping[Key, float] = field(default_factory=lambda: dict(DEFAULT_TABLE))
    learned: Mapping[Key, float] = field(default_factory=dict)

    def __call__(self, move: str, context: str = "") -> float:
        """Return the cost of ``move`` applied to the result of ``context``."""
        found = self.table.get((move, context))
        return found if found is not None else self.table[move,]

    def extra(self, move: str, traits: Iterable[str]) -> float:
        """Return what experience adds to the cost of ``move`` with these traits."""
        return sum(self.learned.get(key, 0.0) for key in features(move, traits))

    def least(self, *moves: str) -> float:
        """Return a bound below the costs of ``moves``, but for cheaper contexts."""
        return min(LEAST if (move,) in self.learned else self(move) for move in moves)

    def as_json(self) -> dict[str, Any]:
        """Return the model as plain data for a job's payload."""
        return {name: [[list(key), cost] for key, cost in getattr(self, name).items()] for name in ("table", "learned")}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CostModel:
        """Return the model that :meth:`as_json` gave."""
        return CostModel(**{name: {tuple(key): cost for key, cost in data[name]} for name in ("table", "learned")})

    def disturbed(self, sigma: float, seed: int) -> CostModel:
        """Return the model with every cost multiplied by lognormal noise."""
        draw = random.Random(seed)
        return replace(self, table={key: cost * math.exp(draw.gauss(0.0, sigma)) for key, cost in self.table.items()})

    def widened(self, table: Mapping[Key, float]) -> CostModel:
        """Return the model with costs of further moves, which the others' are not measured by."""
        return replace(self, table={**table, **self.table})

    def tempered(self, share: float) -> CostModel:
        """Return the model with the cost of every operator moved by ``share`` towards their geometric mean."""
        logs = [math.log(cost) for key, cost in self.table.items() if len(key) == 1 and _is_operator(key, cost)]
        mean = sum(logs) / len(logs)
        return replace(self, table={key: math.exp((1 - share) * math.log(cost) + share * mean)
                                    if _is_operator(key, cost) else cost
                                    for key, cost in self.table.items()})  # fmt: skip

    def without(self, move: str) -> CostModel:
        """Return the model in which ``move`` is never made."""
        return replace(self, table={key: math.inf if key[0] == move else cost for key, cost in self.table.items()})

    def strict(self, factor: float = 2.5) -> CostModel:
        """Return the model in which straying from what the reference computes costs ``factor`` times as much."""
        return replace(self, table={key: factor * cost if key in _STRAYING else cost
                                    for key, cost in self.table.items()})  # fmt: skip

    def flat(self) -> CostModel:
        """Return the model in which all operators and macro moves cost the same."""
        return replace(self, table={key: 1.0 if _is_operator(key, cost) else cost
                                    for key, cost in self.table.items() if len(key) == 1})  # fmt: skip

    def refitted(self, moves: Iterable[tuple[str, str]], strength: float = 20.0) -> CostModel:
        """Return the model after seeing ``moves`` (pairs of move and context) of solved tasks.

        The present costs act as ``strength`` earlier observations; costs of moves that are not in the table's operators
        (penalties and bonuses) stay.
        """
        counts = Counter(moves)
        single: Counter[str] = Counter()
        for (move, _context), number in counts.items():
            single[move] += number
        operators = [key[0] for key in self.table if len(key) == 1 and key[0][0].isupper()]
        weight = {move: math.exp(-self(move)) for move in operators}
        total, seen = sum(weight.values()), sum(single[move] for move in operators)
        table = dict(self.table)
        for move in operators:
            expected = strength * weight[move] / total
            table[move,] = -math.log((single[move] + expected) / (seen + strength)) + math.log(1.0 / total)
        return replace(self, table={key: max(cost, 0.05) for key, cost in table.items()})


def _is_operator(key: Key, cost: float) -> bool:
    """Return whether an entry prices a move that may be made, rather than a penalty or a bonus."""
    return key[0][0].isupper() and cost < math.inf


def features(move: str, traits: Iterable[str]) -> list[Key]:
    """Return the keys under which additions to the cost of a move are learned."""
    return [(move,), *((move, trait) for trait in traits)]
