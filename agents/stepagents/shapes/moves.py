"""What may be changed of a guess after a run failed: read from the error, the tensors that met, and whose they are.

Each move has a cost, the lower the more natural: what the error names costs least, what only happens to help most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from stepagents.shapes.natural import (
    INDICES,
)
from stepagents.shapes.rank_moves import RankMoves
from stepagents.shapes.size_moves import SizeMoves
from stepagents.shapes.state import State


class ShapeMoves(RankMoves, SizeMoves):
    """The moves from one state after one failure, of every kind."""

    def all(self) -> Iterator[State]:
        """Yield states that differ in one respect."""
        yield from self._ranks()
        yield from self._intercepts()
        yield from self._weights_of_sums()
        yield from self._sizes()
        yield from self.types()
        yield from self._values()

    def types(self) -> Iterator[State]:
        """Yield states that differ in the element type of one argument."""
        failure, base = self._failure, self._cost("types")
        places = INDICES.get(failure.name, ())
        wants_bool = re.search(r"bool|predicate|mask", failure.message, re.I) is not None
        for index, operand in enumerate(failure.operands):
            for name in sorted(operand.origins, key=self._order):
                if name not in self._state.dims:
                    continue
                extra = 0.0 if index in places or (not places and operand.is_argument) else 1.0
                extra += 0.5 * (len(operand.origins) - 1)
                order = ("bool", "int64", "fp32") if wants_bool and index not in places else ("int64", "bool", "fp32")
                for number, dtype in enumerate(order):
                    if self._state.dtypes.get(name, "fp32") != dtype:
                        dtypes = {**self._state.dtypes, name: dtype}
                        why = (*self._state.reasons, (name, self._why()))
                        cost = self._state.cost + 0.6 + extra + 0.4 * number + base
                        yield replace(self._state, dtypes=dtypes, cost=cost, reasons=why)

    def _values(self) -> Iterator[State]:
        base = self._cost("values")
        for name in self._origins:
            if name in self._state.dims and name not in self._told:
                dims = {key: value for key, value in self._state.dims.items() if key != name}
                for number, first in enumerate((2, 1, 4, 0.5)):
                    values = {**self._state.values, name: first}
                    yield replace(
                        self._state, dims=dims, values=values, cost=self._state.cost + 0.9 + 0.3 * number + base
                    )
        for name, value in self._state.values.items():
            if name not in self._told and type(value) is int:
                for number, other in enumerate((1, 2, 4, 0, -1, 3)):
                    if other != value:
                        values = {**self._state.values, name: other}
                        yield replace(self._state, values=values, cost=self._state.cost + 2.2 + 0.2 * number + base)
