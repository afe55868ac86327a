"""How long the lists of a stream are where that differs from position to position.

The *levels* of a stream are its sizes, innermost first: an integer where all lists of a dimension are equally long,
:class:`Lengths` where they are not. A level says how many positions of its dimension stand in each position of the
dimensions outside; the outermost is always an integer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import torch
from torch import Tensor

from stepcore.findings.errors import SimError


class Lengths:
    """One length for each position of the dimensions outside, in the order of the stream. Immutable.

    ``values`` are whole numbers, none below 0, of shape ``(positions,)``. Two are equal if all their values are.
    """

    __slots__ = ("_starts", "_total", "values")

    def __init__(self, values: Tensor) -> None:
        self.values = values
        self._total: int | None = None
        self._starts: Tensor | None = None

    @property
    def total(self) -> int:
        """How many positions all lists have together."""
        if self._total is None:
            self._total = int(self.values.sum())
        return self._total

    @property
    def most(self) -> int:
        """How long the longest list is; 0 where there is none."""
        return int(self.values.max()) if len(self.values) else 0

    @property
    def starts(self) -> Tensor:
        """Where each list begins among all positions; one number for each list."""
        if self._starts is None:
            self._starts = self.values.cumsum(0) - self.values
        return self._starts

    @property
    def owners(self) -> Tensor:
        """To which list each position belongs; one number for each position."""
        return torch.repeat_interleave(self.values)

    @property
    def places(self) -> Tensor:
        """Which place each position has in its list; one number for each position."""
        return torch.arange(self.total) - self.starts.repeat_interleave(self.values)

    def times(self, number: int) -> Lengths:
        """Return lengths that are so many times as long."""
        return Lengths(self.values * number)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Lengths) and torch.equal(self.values, other.values))

    def __hash__(self) -> int:
        return hash((len(self.values), self.total))

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.values[:8].tolist()))
        return f"({shown}{', ...' if len(self.values) > 8 else ''})"


Level: TypeAlias = int | Lengths
Levels: TypeAlias = tuple[Level, ...]


def positions(levels: Sequence[Level]) -> int:
    """Return how many positions a stream of these levels has."""
    count = 1
    for level in levels:
        if isinstance(level, Lengths):
            return count * level.total
        count *= level
    return count


def levels_of(levels: Sequence[Level]) -> tuple[int | tuple[int, ...], ...]:
    """Return levels as numbers, and rows of them."""
    return tuple(level if isinstance(level, int) else tuple(level.values.tolist()) for level in levels)


def as_lengths(level: Level, count: int) -> Lengths:
    """Return a level with one length for each of the ``count`` positions outside."""
    return level if isinstance(level, Lengths) else Lengths(torch.full((count,), level))


def is_regular(levels: Sequence[Level]) -> bool:
    """Return whether no level has lengths of its own."""
    return all(isinstance(level, int) for level in levels)


def apart(levels: Levels) -> tuple[tuple[int, ...], Levels]:
    """Return the sizes of the packed values of a stream, all positions of its innermost ragged dimension outermost, and
    the levels from that dimension on: none of a regular stream.
    """
    sizes: list[int] = []
    for place, level in enumerate(levels):
        if isinstance(level, Lengths):
            return (*sizes, positions(levels[place:])), levels[place:]
        sizes.append(level)
    return tuple(sizes), ()


def joined(levels: Sequence[Level], outer: Sequence[Level]) -> Level:
    """Return the one level that neighbouring ``levels`` become inside of ``outer``; without that an integer."""
    if not outer or is_regular(levels):
        return positions(levels)
    outside, total = positions(outer), levels[-1]
    for level in reversed(levels[:-1]):
        if isinstance(level, int):
            total = total.times(level) if isinstance(total, Lengths) else total * level
        elif isinstance(total, int):
            total = Lengths(level.values.view(outside, total).sum(1))
        else:
            total = Lengths(torch.zeros(outside, dtype=torch.int64).index_add(0, total.owners, level.values))
    return total


def taken(levels: Sequence[Level], index: Tensor) -> tuple[Levels, Tensor]:
    """Return the levels inside of the chunks ``index`` of a dimension, and which innermost positions these have.

    ``levels`` are those inside of the dimension, ``index`` numbers its positions.
    """
    kept: list[Level] = []
    for level in reversed(levels):
        if isinstance(level, int):
            kept.append(level)
            index = (index.unsqueeze(1) * level + torch.arange(level)).flatten()
        else:
            lengths = Lengths(level.values.index_select(0, index))
            kept.append(lengths)
            index = level.starts.index_select(0, index).repeat_interleave(lengths.values) + lengths.places
    return tuple(reversed(kept)), index


def behind(parts: Sequence[Sequence[Level]]) -> Levels:
    """Return the levels of streams that stand one behind the other along a dimension outside of these levels.

    Raises:
        SimError: STEP412 where the lists of one dimension are as long as those of another stream nowhere.
    """
    columns: list[Level] = []
    for column in zip(*parts, strict=True):
        if all(isinstance(level, int) for level in column):
            if any(level != column[0] for level in column):
                raise SimError("STEP412", f"streams that are put together have lists of {column} elements")
            columns.append(column[0])
        else:
            columns.append(Lengths(torch.cat([level.values for level in column if isinstance(level, Lengths)])))
    return tuple(columns)


def place_of(number: int, levels: Sequence[Level]) -> list[int]:
    """Return which position the ``number``-th of a stream of ``levels`` is, outermost index first."""
    place: list[int] = []
    for level in levels:
        if isinstance(level, int):
            number, index = divmod(number, level)
        else:
            owner = int(torch.searchsorted(level.starts + level.values, torch.tensor(number), right=True))
            index, number = number - int(level.starts[owner]), owner
        place.insert(0, index)
    return place


def first_unlike(one: Level, other: Level, outer: Sequence[Level]) -> tuple[list[int], int, int] | None:
    """Return at which position outside (outermost index first) two levels differ first, and how long the lists are
    there; None where they are alike.
    """
    count = positions(outer)
    left, right = as_lengths(one, count).values, as_lengths(other, count).values
    if torch.equal(left, right):
        return None
    number = int((left != right).to(torch.uint8).argmax())
    return place_of(number, outer), int(left[number]), int(right[number])
