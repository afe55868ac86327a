"""Rows of equal rounds: what each argument of an operation is in all of them. Loads torch."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, TypeAlias

import torch
from torch.fx import Node

from stepagents.torchfn.loop_ops import MARKS
from stepcore.records import Record

_DEEPEST: Final = 8  # of what is computed outside for each round
SELECT: Final[Any] = torch.ops.aten.select.int
SLICE: Final[Any] = torch.ops.aten.slice.Tensor
_SPLIT: Final[Any] = torch.ops.aten.split_with_sizes.default
_SCATTER: Final[Any] = torch.ops.aten.select_scatter.default
PLACES: Final = {SELECT: (2,), SLICE: (2, 3), _SCATTER: (3,)}  # arguments that may go with the rounds


class NoLoop(Exception):
    """These rounds are not versions of one."""


# ("same", node): outside, for all rounds; ("in", offset): made in the round; ("carry", offset, lag): made before;
# ("item", base, dim, start, step, width): a slice that goes with the rounds; ("op", node, leaves): computed outside.
Form: TypeAlias = "tuple[Any, ...]"


class RoundRow(Record):
    """``rounds[r][o]`` are the nodes; ``forms[o]`` says for each argument of such a node what it is in all rounds.

    ``firsts`` are what is carried into the first round, by (offset, lag); ``where`` finds the place of a node.
    """

    rounds: list[list[Node]]
    forms: list[list[Form]]
    firsts: dict[tuple[int, int], Node]
    where: dict[Node, tuple[int, int]]

    @property
    def written(self) -> dict[int, tuple[int, int]]:
        """Where each round writes its result into a tensor that nobody reads in between: offset -> (start, step)."""
        found: dict[int, tuple[int, int]] = {}
        for offset, node in enumerate(self.rounds[0]):
            column = [each[offset] for each in self.rounds]
            place = _scattered(column) if node.target is _SCATTER else None
            if place is None or self.forms[offset][0] != ("carry", offset, 1):
                continue
            mine = (("carry", offset, 1), ("in", offset))
            readers = [form for other, forms in enumerate(self.forms) if other != offset for form in forms]
            outer = [user for each in column[:-1] for user in each.users if user not in self.where]
            if not outer and not any(form in mine for form in readers):
                found[offset] = place
        return found

    @property
    def score(self) -> tuple[int, int]:
        """Greater is better: more nodes, then less that is carried."""
        return len(self.rounds) * len(self.rounds[0]), -len(self.firsts)


def _leaves(value: Any) -> Iterator[Any]:
    """Yield the arguments inside of lists and tuples."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    else:
        yield value


def _arguments(node: Node) -> list[Any]:
    return [*_leaves(node.args), *_leaves(node.kwargs)]


def token(node: Node) -> tuple[Any, ...]:
    """Return what is equal for nodes that may stand at the same place of two rounds."""
    places = PLACES.get(node.target, (1,) if node.target is operator.getitem else ())

    def shown(value: Any) -> str:
        return "*" if isinstance(value, Node) else repr(value)

    plain = tuple(
        "#" if place in places and isinstance(value, int) else tuple(map(shown, _leaves(value)))
        for place, value in enumerate(node.args)
    )
    return (
        str(node.target),
        plain,
        tuple((key, tuple(map(shown, _leaves(value)))) for key, value in node.kwargs.items()),
    )


def sign(rounds: list[list[Node]], number: int, where: dict[Node, tuple[int, int]]) -> tuple[Any, ...]:
    """Return how a round differs from the one before."""
    found: list[Any] = []
    for one, other in zip(rounds[number], rounds[number - 1], strict=True):
        for value, before in zip(_arguments(one), _arguments(other), strict=True):
            if isinstance(value, Node):
                place = where.get(value)
                found.append(("o", value is before) if place is None else (place[0] - number, place[1]))
            elif isinstance(value, int) and isinstance(before, int):
                found.append(value - before)
    return tuple(found)


@dataclass(slots=True)
class Generaliser:
    """Finds forms for what stands at the same place of all rounds."""

    rounds: list[list[Node]]
    where: dict[Node, tuple[int, int]]
    firsts: dict[tuple[int, int], Node] = field(default_factory=dict)
    known: dict[tuple[Node, ...], Form] = field(default_factory=dict)

    def argument(self, values: list[Any]) -> Form:
        """Return the form of an argument; raises :class:`NoLoop` where there is none."""
        if not isinstance(values[-1], Node):
            if any(type(value) is not type(values[0]) or value != values[0] for value in values):
                raise NoLoop
            return ("value", values[0])
        if not all(isinstance(value, Node) for value in values):
            raise NoLoop
        place = self.where.get(values[-1])
        if place is None:
            return self.outside(values, 0)
        lag, offset = len(self.rounds) - 1 - place[0], place[1]
        for number, value in enumerate(values):
            if number >= lag:
                if self.where.get(value) != (number - lag, offset):
                    raise NoLoop
            elif (
                self.where.get(value) is not None or self.firsts.setdefault((offset, lag - number), value) is not value
            ):
                raise NoLoop
        return ("in", offset) if lag == 0 else ("carry", offset, lag)

    def outside(self, values: list[Node], depth: int) -> Form:
        """Return the form of what is made outside of the rounds, or (for results) of their own nodes."""
        if all(value is values[0] for value in values):
            return ("same", values[0])
        places = [self.where.get(value) for value in values]
        if places[0] is not None:
            if places != [(number, places[0][1]) for number in range(len(values))]:
                raise NoLoop
            return ("in", places[0][1])
        key = tuple(values)
        if key not in self.known:
            self.known[key] = self._computed(values, depth)
        return self.known[key]

    def _computed(self, values: list[Node], depth: int) -> Form:
        if depth > _DEEPEST or any(
            value.op != "call_function" or value.target is not values[0].target or value.target in MARKS
            for value in values
        ):
            raise NoLoop
        item = item_form(values)
        if item is not None:
            return item
        columns = list(zip(*map(_arguments, values), strict=False))
        if len({len(_arguments(value)) for value in values}) > 1 or len({token(value) for value in values}) > 1:
            raise NoLoop
        return ("op", values[0], [self._leaf(list(column), depth) for column in columns])

    def _leaf(self, values: list[Any], depth: int) -> Form:
        if all(isinstance(value, Node) for value in values):
            return self.outside(values, depth + 1)
        if any(isinstance(value, Node) for value in values) or any(value != values[0] for value in values):
            raise NoLoop
        return ("value", values[0])


def item_form(values: Sequence[Node]) -> Form | None:
    """Return the form of slices that go with the rounds: of one tensor, the next place each time."""
    target = values[0].target
    if target is operator.getitem and getattr(values[0].args[0], "target", None) is _SPLIT:
        split: Any = values[0].args[0]
        if any(value.args[0] is not split for value in values) or set(split.args[1]) != {1}:
            return None
        base, dim, width = split.args[0], split.args[2] if len(split.args) > 2 else 0, 1
        starts: list[Any] = [value.args[1] for value in values]
    elif target is SELECT or (target is SLICE and len(values[0].args) == 4):
        if any(value.args[:2] != values[0].args[:2] for value in values):
            return None
        base, dim = values[0].args[:2]
        starts = [value.args[2] for value in values]
        ends = [value.args[3] for value in values] if target is SLICE else []
        if any(end - start != 1 for start, end in zip(starts, ends, strict=False)):
            return None
        width = len(ends) and 1
    else:
        return None
    found = _progression(starts, base.meta["val"].shape[dim])
    return None if found is None or found[1] == 0 else ("item", base, dim, *found, width)


def generalised(rounds: list[list[Node]]) -> RoundRow:
    """Return the rounds as versions of one.

    Raises:
        NoLoop: they are none, carry nothing, or none reads the next slice of anything.
    """
    where = {node: (number, offset) for number, each in enumerate(rounds) for offset, node in enumerate(each)}
    finder = Generaliser(rounds, where)
    forms: list[list[Form]] = []
    for offset in range(len(rounds[0])):
        column = [each[offset] for each in rounds]
        item = item_form(column)
        if item is not None and where.get(item[1]) is None:
            forms.append([item])
            continue
        if column[0].target is _SCATTER and _scattered(column) is not None:
            parts = [finder.argument([node.args[0] for node in column]), finder.argument([n.args[1] for n in column])]
            forms.append([*parts, ("value", column[0].args[2]), ("place",)])
            continue
        columns = list(zip(*map(_arguments, column), strict=True))
        forms.append([finder.argument(list(values)) for values in columns])
    row = RoundRow(rounds, forms, finder.firsts, where)
    written = row.written
    if any(("place",) in each and offset not in written for offset, each in enumerate(forms)):
        raise NoLoop
    if not row.firsts or not any(_has_item(form) for each in forms for form in each):
        raise NoLoop
    for (offset, _), first in row.firsts.items():
        mine, other = first.meta.get("val"), rounds[0][offset].meta.get("val")
        if not isinstance(mine, torch.Tensor) or not isinstance(other, torch.Tensor):
            raise NoLoop
        if (mine.shape, mine.dtype) != (other.shape, other.dtype):
            raise NoLoop
    return row


def _has_item(form: Form) -> bool:
    return form[0] == "item" or (form[0] == "op" and any(map(_has_item, form[2])))


def _scattered(column: Sequence[Node]) -> tuple[int, int] | None:
    """Return where the first round writes, and how far the next ones go on; None where that is not regular."""
    starts: list[Any] = [node.args[3] for node in column]
    found = _progression(starts, column[0].meta["val"].shape[column[0].args[2]])
    return None if found is None or abs(found[1]) != 1 else found


def _progression(places: Sequence[int], size: int) -> tuple[int, int] | None:
    """Return the first of these places of a dimension of ``size`` and the step between them, None if it changes."""
    counted = [place + size if place < 0 else place for place in places]
    step = counted[1] - counted[0]
    return None if any(after - before != step for before, after in pairwise(counted)) else (counted[0], step)
