"""Which streams can be the arguments of a function together, brought to one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations, pairwise, product
from math import inf
from typing import Final, TypeAlias

from stepagents.search.broadcast import insertion_ops, missing
from stepagents.search.costs import CostModel
from stepagents.search.items import SearchStream, embeddings, is_open, parts
from stepagents.search.lattice import Choices, Column, best_first
from stepcore.types import Element, Shape, STuple

_MOST_KINDS: Final = 512  # ways in which the arguments of one function may share the dimensions among them

Span: TypeAlias = tuple[int, int]  # place of the first component, and how many there are
Kind: TypeAlias = tuple[int, ...]  # the positions of the joint shape that an argument has


@dataclass(frozen=True, slots=True)
class EmbeddedStream:
    """A stream as one argument: embedded at ``positions`` of the joint shape."""

    item: SearchStream
    positions: tuple[int, ...]


@dataclass(slots=True)
class JoinTable:
    """Arguments for everything that takes ``components`` at the shape ``target``, by place and width, and by kind.

    ``least`` is the cheapest candidate of each place.
    """

    components: tuple[Element, ...]
    target: Shape
    slots: dict[Span, dict[Kind, Choices[EmbeddedStream]]] = field(default_factory=dict)
    least: dict[Span, float] = field(default_factory=dict)
    found: list[tuple[float, tuple[EmbeddedStream, ...]]] = field(default_factory=list)
    covers: dict[Span, tuple[int, list[list[Span]]]] = field(default_factory=dict)

    def patterns(self, here: Span) -> list[list[Span]]:
        """Return the ways to cover all components with one argument ``here`` and others that there are."""
        known = self.covers.get(here)
        if known is None or known[0] != len(self.slots):
            start, width = here
            found = [
                [*before, here, *after]
                for before in self._covers(0, start)
                for after in self._covers(start + width, len(self.components))
            ]
            known = self.covers[here] = len(self.slots), found
        return known[1]

    def _covers(self, start: int, stop: int) -> Iterator[list[Span]]:
        cuts = range(start + 1, stop)
        if start == stop:
            yield []
            return
        for count in range(len(cuts) + 1):
            for chosen in combinations(cuts, count):
                edges = [start, *chosen, stop]
                spans = [(a, b - a) for a, b in pairwise(edges)]
                if all(span in self.slots for span in spans):
                    yield spans


@dataclass(frozen=True, slots=True)
class Meeting:
    """Arguments that a new stream makes possible at one table: none costs less than ``bound``.

    ``start`` makes the combinations, cheapest first; most meetings are never worth that.
    """

    bound: float
    table: JoinTable
    start: Callable[[], Iterator[tuple[float, tuple[EmbeddedStream, ...]]]]


class Joins:
    """All tables; new streams and new shapes may come in any order."""

    def __init__(self, inputs: Sequence[tuple[Element, ...]], costs: CostModel) -> None:
        self._inputs = inputs
        self._costs = costs
        self._targets: dict[Shape, int] = {}
        self._tables: list[dict[int, JoinTable]] = []  # by target, then by place in ``inputs``
        self._items: list[SearchStream] = []
        self._ways: dict[tuple[Shape, bool], list[list[tuple[Kind, float]]]] = {}
        self._places: dict[Element, list[tuple[int, Span]]] = {}

    def tables(self) -> Iterator[JoinTable]:
        """Yield all tables that there are."""
        for tables in self._tables:
            yield from tables.values()

    def __len__(self) -> int:
        """Return at how many shapes arguments may meet."""
        return len(self._targets)

    def add_target(self, target: Shape) -> Iterator[Meeting]:
        """Allow arguments to meet at ``target``; yields the meetings of streams that are already there."""
        if target not in self._targets:
            number = self._targets[target] = len(self._targets)
            self._tables.append({})
            for serial, item in enumerate(self._items):
                yield from self._enter(item, serial, number, self._ways_of(item)[number])

    def add(self, item: SearchStream) -> Iterator[Meeting]:
        """Add a stream; yields the meetings that it takes part in."""
        self._items.append(item)
        for number, ways in enumerate(self._ways_of(item)):
            if ways:
                yield from self._enter(item, len(self._items) - 1, number, ways)

    def _enter(self, item: SearchStream, serial: int, number: int, ways: list[tuple[Kind, float]]) -> Iterator[Meeting]:
        if not ways:
            return
        mine = [(item.cost + extra, EmbeddedStream(item, kind)) for kind, extra in ways]
        tables = self._tables[number]
        for place, here in self._places_of(item.element):
            table = tables.get(place)
            if table is None:
                table = tables[place] = JoinTable(self._inputs[place], list(self._targets)[number])
            yield from self._slot(table, here, serial, mine)

    def _places_of(self, element: Element) -> list[tuple[int, Span]]:
        """Return what a stream of ``element`` can be an argument of, and where."""
        found = self._places.get(element)
        if found is None:
            own = parts(element)
            found = self._places[element] = [
                (number, (start, len(own)))
                for number, components in enumerate(self._inputs)
                for start in range(len(components) - len(own) + 1)
                if components[start : start + len(own)] == own
            ]
        return found

    def _ways_of(self, item: SearchStream) -> list[list[tuple[Kind, float]]]:
        """Return, target by target, how a stream can be brought to its shape, and what that costs."""
        ways = self._ways.setdefault((item.shape, isinstance(item.element, STuple)), [])
        if len(ways) < len(self._targets):
            ways += [self._ways_to(item, target) for target in list(self._targets)[len(ways) :]]
        return ways

    def _ways_to(self, item: SearchStream, target: Shape) -> list[tuple[Kind, float]]:
        return [
            (kind, cost)
            for kind in embeddings(item.shape, target)
            if not any(is_open(target[i]) for i in missing(kind, target))
            and insertion_ops(item.element, kind, target) is not None
            and (cost := self._cost(kind, target)) < inf
        ]

    def _cost(self, kind: Kind, target: Shape) -> float:
        lacking = missing(kind, target)
        inner = any(kind and i > kind[0] for i in lacking)
        return self._costs("broadcast") * len(lacking) + (self._costs("stash") if inner else 0.0)

    def _slot(
        self, table: JoinTable, here: Span, serial: int, mine: list[tuple[float, EmbeddedStream]]
    ) -> Iterator[Meeting]:
        """Enter one argument; what stands before it may be the same stream, what stands after it was there earlier."""
        patterns = table.patterns(here)
        cheapest = min(cost for cost, _ in mine)
        if patterns:
            bound = min(self._least(table, here, cheapest, pattern) for pattern in patterns)
            yield Meeting(bound, table, partial(self._meet, table, here, serial, mine, patterns))
        kinds = table.slots.setdefault(here, {})
        table.least[here] = min(cheapest, table.least.get(here, cheapest))
        for cost, place in mine:
            kinds.setdefault(place.positions, Choices()).add(cost, serial, place)

    def _least(self, table: JoinTable, here: Span, cheapest: float, pattern: list[Span]) -> float:
        costs = [cheapest if span == here else table.least[span] for span in pattern]
        return max(costs) + self._costs("further argument") * (sum(costs) - max(costs))

    def _meet(
        self,
        table: JoinTable,
        here: Span,
        serial: int,
        mine: list[tuple[float, EmbeddedStream]],
        patterns: Sequence[list[Span]],
    ) -> Iterator[tuple[float, tuple[EmbeddedStream, ...]]]:
        """Combine one argument with those that were there when it came."""
        own: dict[Kind, Column[EmbeddedStream]] = {
            place.positions: Column([(cost, serial, place)]) for cost, place in mine
        }
        products: list[list[Column[EmbeddedStream]]] = []
        for pattern in patterns:
            products += _covering(
                [
                    own
                    if span == here
                    else {
                        kind: choices.column(serial + 1 if span < here else serial)
                        for kind, choices in table.slots[span].items()
                    }
                    for span in pattern
                ],
                len(table.target),
            )
        again = self._costs("same argument twice")
        for cost, combination in best_first(products, self._costs("further argument")):
            twice = len(combination) - len({place.item.index for place in combination})
            yield cost + twice * again, combination


def _covering(
    arguments: Sequence[dict[Kind, Column[EmbeddedStream]]], dimensions: int
) -> Iterator[list[Column[EmbeddedStream]]]:
    """Yield one column per argument wherever their kinds have all dimensions together; at most ``_MOST_KINDS``.

    Kinds with all dimensions come first.
    """
    whole = (1 << dimensions) - 1
    masks = [
        sorted(((sum(1 << i for i in kind), kind) for kind in kinds), key=lambda pair: -pair[0].bit_count())
        for kinds in arguments
    ]
    for count, chosen in enumerate(product(*masks)):
        if count == _MOST_KINDS:
            return
        joint = 0
        for mask, _ in chosen:
            joint |= mask
        if joint == whole:
            yield [kinds[kind] for kinds, (_, kind) in zip(arguments, chosen, strict=True)]
