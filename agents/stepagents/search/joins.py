"""Which streams can be the arguments of a function together, brought to one shape."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, pairwise, product
from typing import Final

from stepagents.search.broadcast import insertion_ops, missing
from stepagents.search.costs import CostModel
from stepagents.search.items import Item, embeddings, is_open, parts
from stepagents.search.lattice import Choices, best_first
from stepcore.types import Element, Shape

_MOST_KINDS: Final = 64  # ways in which several arguments may have all dimensions together


@dataclass(frozen=True, slots=True)
class Placed:
    """A stream as one argument: embedded at ``positions`` of the joint shape."""

    item: Item
    positions: tuple[int, ...]


@dataclass(slots=True)
class Table:
    """Arguments for everything that takes ``components`` at the shape ``target``, by place and width."""

    components: tuple[Element, ...]
    target: Shape
    slots: dict[tuple[int, int], Choices[Placed]] = field(default_factory=dict)
    reached: dict[tuple[int, int], set[int]] = field(default_factory=dict)  # positions that some candidate has
    found: list[tuple[float, tuple[Placed, ...]]] = field(default_factory=list)

    def patterns(self, start: int, width: int) -> Iterator[list[tuple[int, int]]]:
        """Yield the ways to cover all components with one argument at ``start`` of ``width`` components."""
        for before in self._covers(0, start):
            for after in self._covers(start + width, len(self.components)):
                yield [*before, (start, width), *after]

    def _covers(self, start: int, stop: int) -> Iterator[list[tuple[int, int]]]:
        cuts = range(start + 1, stop)
        if start == stop:
            yield []
            return
        for count in range(len(cuts) + 1):
            for chosen in combinations(cuts, count):
                edges = [start, *chosen, stop]
                spans = [(a, b - a) for a, b in pairwise(edges)]
                if all(span in self.reached for span in spans):
                    yield spans


class Joins:
    """All tables; new streams and new shapes may come in any order."""

    def __init__(self, inputs: Sequence[tuple[Element, ...]], costs: CostModel) -> None:
        self._inputs = inputs
        self._costs = costs
        self.tables: dict[tuple[tuple[Element, ...], Shape], Table] = {}
        self.targets: dict[Shape, None] = {}
        self._items: list[Item] = []

    def add_target(self, target: Shape) -> Iterator[tuple[Table, Iterator[tuple[float, tuple[Placed, ...]]]]]:
        """Allow arguments to meet at ``target``; yields the combinations of streams that are already there."""
        if target in self.targets:
            return
        self.targets[target] = None
        for item in self._items:
            yield from self._enter(item, target)

    def add(self, item: Item) -> Iterator[tuple[Table, Iterator[tuple[float, tuple[Placed, ...]]]]]:
        """Add a stream; yields the combinations that it takes part in, table by table, each cheapest first."""
        self._items.append(item)
        for target in list(self.targets):
            yield from self._enter(item, target)

    def _enter(self, item: Item, target: Shape) -> Iterator[tuple[Table, Iterator[tuple[float, tuple[Placed, ...]]]]]:
        places = [Placed(item, positions) for positions in embeddings(item.shape, target)]
        if not places or any(is_open(size) for size in target[len(item.shape) :]):
            return
        own = parts(item.element)
        for components in self._inputs:
            for start in range(len(components) - len(own) + 1):
                if components[start : start + len(own)] != own:
                    continue
                table = self.tables.get((components, target))
                if table is None:
                    table = self.tables[components, target] = Table(components, target)
                yield from self._slot(table, start, len(own), places)

    def _slot(
        self, table: Table, start: int, width: int, places: list[Placed]
    ) -> Iterator[tuple[Table, Iterator[tuple[float, tuple[Placed, ...]]]]]:
        """Enter one argument; what stands before it may be the same stream, what stands after it was there earlier."""
        here = (start, width)
        mine = [(self._cost(place, table.target), place) for place in places if self._can(place, table.target)]
        if not mine:
            return
        table.slots.setdefault(here, Choices())
        own = {position for _, place in mine for position in place.positions}
        for pattern in table.patterns(start, width):
            reached = own.union(*(table.reached[span] for span in pattern if span != here))
            columns = [mine if span == here else table.slots[span].sorted() for span in pattern]
            if all(columns) and len(reached) == len(table.target):
                yield table, self._combinations(columns, len(table.target))
        table.reached[here] = table.reached.get(here, set()) | own
        for cost, place in mine:
            table.slots[here].add(cost, place.item.index, place)

    def _combinations(
        self, columns: Sequence[list[tuple[float, Placed]]], dimensions: int
    ) -> Iterator[tuple[float, tuple[Placed, ...]]]:
        further, again = self._costs("further argument"), self._costs("same argument twice")
        splits = [best_first(split, further) for split in _covering(columns, dimensions)]
        for cost, combination in heapq.merge(*splits, key=lambda pair: pair[0]):
            twice = len(combination) - len({place.item.index for place in combination})
            yield cost + twice * again, combination

    def _can(self, place: Placed, target: Shape) -> bool:
        lacking = missing(place.positions, target)
        if any(is_open(target[i]) for i in lacking):
            return False
        return insertion_ops(place.item.element, place.positions, target) is not None

    def _cost(self, place: Placed, target: Shape) -> float:
        lacking = missing(place.positions, target)
        inner = sum(1 for i in lacking if place.positions and i > place.positions[0])
        return place.item.cost + self._costs("broadcast") * len(lacking) + self._costs("stash") * bool(inner)


def _covering(
    columns: Sequence[list[tuple[float, Placed]]], dimensions: int
) -> Iterator[list[list[tuple[float, Placed]]]]:
    """Split the product of ``columns`` so that few of its combinations leave a dimension of the target uncovered.

    Either some argument, the first of them at place ``k``, has all dimensions, or several have them together.
    """
    whole = [[entry for entry in column if len(entry[1].positions) == dimensions] for column in columns]
    part = [[entry for entry in column if len(entry[1].positions) < dimensions] for column in columns]
    for k, full in enumerate(whole):
        split = [*part[:k], full, *columns[k + 1 :]]
        if all(split):
            yield split
    if len(columns) > 1 and all(part):
        yield from _together(part, dimensions)


def _together(
    columns: Sequence[list[tuple[float, Placed]]], dimensions: int
) -> Iterator[list[list[tuple[float, Placed]]]]:
    """Yield the parts of the product in which no argument has all dimensions, but all of them together do."""
    kinds: list[dict[tuple[int, ...], list[tuple[float, Placed]]]] = []
    for column in columns:
        by_positions: dict[tuple[int, ...], list[tuple[float, Placed]]] = {}
        for entry in column:
            by_positions.setdefault(entry[1].positions, []).append(entry)
        kinds.append(by_positions)
    for chosen in islice(product(*kinds), _MOST_KINDS):
        if len({position for positions in chosen for position in positions}) == dimensions:
            yield [kind[positions] for kind, positions in zip(kinds, chosen, strict=True)]
