"""Lists of different lengths, literally: sizes as numbers or as a length for each list, and nested lists.

A size is an integer where all lists of a dimension are equally long, else a tuple with the length of each list, in
stream order. Sizes are innermost first. Nothing here knows tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Size = int | tuple[int, ...]
Sizes = tuple[Size, ...]


def lengths(sizes: Sequence[Size]) -> list[list[int]]:
    """For each dimension, outermost first, the length of each of its lists."""
    found: list[list[int]] = []
    lists = 1
    for size in reversed(sizes):
        of_each = [size] * lists if isinstance(size, int) else list(size)
        if len(of_each) != lists:
            raise ValueError(f"{len(of_each)} lengths for {lists} lists")
        found.append(of_each)
        lists = sum(of_each)
    return found


def positions(sizes: Sequence[Size]) -> int:
    """How many items stand in lists of these sizes."""
    return sum(lengths(sizes)[-1]) if sizes else 1


def times(size: Size, number: int) -> Size:
    """A size that is so many times as long."""
    return size * number if isinstance(size, int) else tuple(length * number for length in size)


def items_of_chunks(sizes: Sequence[Size], inner: int) -> list[int]:
    """How many items each chunk of the innermost `inner` dimensions has."""
    chunks = [1] * positions(sizes[inner:])
    for of_each in lengths(sizes)[len(sizes) - inner :]:
        rest = iter(of_each)
        chunks = [sum(next(rest) for _ in range(count)) for count in chunks]
    return chunks


def nested(items: Sequence[Any], sizes: Sequence[Size]) -> list[Any]:
    """A list of lists, as deep as there are sizes."""
    found = list(items)
    for of_each in reversed(lengths(sizes)):
        rest = iter(found)
        found = [[next(rest) for _ in range(count)] for count in of_each]
    only: list[Any] = found[0]
    return only


def measured(lists: list[Any], like: Sequence[Size | None]) -> tuple[Sizes, list[Any]]:
    """The sizes of nested lists, and their items; `like` has an integer for a dimension that is regular.

    The outermost size is always counted. `ValueError` where lists of a regular dimension differ.
    """
    sizes: list[Size] = [len(lists)]
    found: list[Any] = lists
    for known in list(reversed(like))[1:]:
        of_each = [len(item) for item in found]
        if isinstance(known, int):
            if any(length != known for length in of_each):
                raise ValueError(f"lists of {of_each} where all have {known}")
            sizes.append(known)
        else:
            sizes.append(tuple(of_each))
        found = [part for item in found for part in item]
    return tuple(reversed(sizes)), found
