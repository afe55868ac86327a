"""The tokens of a stream whose lists differ in length: elements with their level, and bare stops.

The sizes of a stream, innermost first, are its *levels* here: a number where all lists of a dimension are equally long,
else one number for each list, in the order of the stream. The outermost is a number. On the wire an element carries the
level of the highest dimension that ends with it (0: none), and a list that is empty is a bare stop, a token with a
level and without an element; an empty outermost list is no token.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import NamedTuple, TypeAlias

from stepcore.timing.bare_stops import gaps

SizeLevel: TypeAlias = int | Sequence[int]
SizeLevels: TypeAlias = Sequence[SizeLevel]


class StreamTokens(NamedTuple):
    """The tokens of a stream, in order: the number of dimensions that end with each, and whether it is an element."""

    ends: list[int]
    elements: list[bool]

    def groups(self, dims: int) -> list[int]:
        """Return how many tokens each list of ``dims`` dimensions has; of 0 each token is one.

        A bare stop of a dimension further out is a group of its own.
        """
        found: list[int] = []
        count = 0
        for end in self.ends:
            count += 1
            if end >= dims:
                found.append(count)
                count = 0
        return found

    def lists(self, dims: int) -> list[StreamTokens]:
        """Return the tokens of each list of ``dims`` dimensions."""
        found: list[StreamTokens] = []
        start = 0
        for size in self.groups(dims):
            stop = start + size
            found.append(StreamTokens(self.ends[start:stop], self.elements[start:stop]))
            start = stop
        return found

    def chunks(self, dims: int) -> list[list[bool]]:
        """Return, for each list of ``dims`` dimensions, which of its tokens are elements."""
        return [tokens.elements for tokens in self.lists(dims)]


def tokens_of(levels: SizeLevels) -> StreamTokens:
    """Return the tokens of a stream of these levels.

    Raises:
        ValueError: a dimension has another number of lengths than there are positions outside.
    """
    lengths = _every_length(levels)
    count = sum(lengths[0]) if levels else 1
    ends, elements = [0] * count, [True] * count
    each = [1] * count  # tokens of each position
    for dim, sizes in enumerate(lengths):
        outer: list[int] = []
        given: tuple[list[int], list[bool]] = [], []
        token = place = 0
        for size in sizes:
            tokens = sum(each[place : place + size])
            place += size
            given[0].extend(ends[token : token + tokens])
            given[1].extend(elements[token : token + tokens])
            token += tokens
            if size:
                given[0][-1] = dim + 1
            elif dim + 1 < len(lengths):
                given[0].append(dim + 1)
                given[1].append(False)
                tokens = 1
            outer.append(tokens)
        (ends, elements), each = given, outer
    return StreamTokens(ends, elements)


def _every_length(levels: SizeLevels) -> list[list[int]]:
    """Return the lengths of all lists, by dimension, innermost first."""
    found: list[list[int]] = []
    positions = 1
    for level in reversed(levels):
        sizes = list(repeat(level, positions)) if isinstance(level, int) else list(level)
        if len(sizes) != positions:
            raise ValueError(f"{len(sizes)} lengths for {positions} lists")
        found.append(sizes)
        positions = sum(sizes)
    return found[::-1]


def handed_on(before: StreamTokens, after: StreamTokens) -> list[int]:
    """Return how many tokens of ``after`` each of ``before`` becomes, where the elements are the same.

    As many bare stops as there were are those that came. Fewer, or more, come out as soon as nothing can change them:
    with the last token before the next element.
    """
    came, left = gaps(before.elements), gaps(after.elements)
    given: list[int] = []
    for gap, (bare, out) in enumerate(zip(came, left, strict=True)):
        if gap:
            given.append(1)
        given += [1] * bare if bare == out else [0] * bare
        if bare != out and given:
            given[-1] += out
    return given
