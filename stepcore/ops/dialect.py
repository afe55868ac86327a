"""Dialects: what a file sees of the language.

The checker asks the dialect of a file which operators there are (an operator of the same name may take other parameters
in another dialect), and in which order sizes are written. A further generation is a further dialect, made of an earlier
one by :meth:`Dialect.extended`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import TypeVar

from stepcore.ops.base import Operator
from stepcore.types import Buffer, Single

S = TypeVar("S")


class SizeOrder(Enum):
    """The order in which the sizes of a stream or buffer are written; types hold them innermost first in any case."""

    INNERMOST_FIRST = "innermost first"
    OUTERMOST_FIRST = "outermost first"


@dataclass(frozen=True, eq=False)
class Dialect:
    """What a file sees of the language. ``by_name`` finds operators by all their names; each says what it takes."""

    name: str
    operators: Sequence[type[Operator]]
    by_name: Mapping[str, type[Operator]]
    order: SizeOrder = SizeOrder.INNERMOST_FIRST

    def sees(self, operator: type[Operator]) -> bool:
        """Return whether ``operator`` is one of the dialect; none of the others is imported for it."""
        return self.by_name.get(operator.__name__) is operator

    def in_any_case(self, name: str) -> list[str]:
        """Return the names of operators that are ``name`` but for the case of letters."""
        return self._folded.get(name.lower(), [])

    @cached_property
    def result_names(self) -> frozenset[str]:
        """The names that operators give to parts of their results: ``routed.selector``."""
        return frozenset(name for operator in self.by_name.values() for name in operator.outputs.names)

    @cached_property
    def _folded(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for name in self.by_name:
            found.setdefault(name.lower(), []).append(name)
        return found

    def forget(self) -> None:
        """Work out anew what follows from the operators: they are others now."""
        for name in ("result_names", "_folded"):
            vars(self).pop(name, None)

    def sizes(self, written: Iterable[S]) -> tuple[S, ...]:
        """Return sizes as types hold them, innermost first."""
        sizes = tuple(written)
        return sizes if self.order is SizeOrder.INNERMOST_FIRST else sizes[::-1]

    def element(self, written: Single | None) -> Single | None:
        """Return an element type whose buffers have their sizes as types hold them; a tile is rows by columns."""
        if self.order is SizeOrder.INNERMOST_FIRST or not isinstance(written, Buffer):
            return written
        return Buffer(written.element, self.sizes(written.shape))

    def extended(self, name: str, operators: Sequence[type[Operator]] = (), order: SizeOrder | None = None) -> Dialect:
        """Return a dialect with more operators; one with the name of an earlier one stands in its place."""
        found = {operator.__name__: operator for operator in (*self.operators, *operators)}
        names = {**self.by_name, **by_names(operators)}
        return Dialect(name, tuple(found.values()), names, order or self.order)


def by_names(operators: Iterable[type[Operator]]) -> dict[str, type[Operator]]:
    """Return operators by their names, aliases and published names."""
    return {
        name: operator for operator in operators for name in (operator.__name__, *operator.aliases, *operator.published)
    }
