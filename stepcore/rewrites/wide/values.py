"""Values of element functions whose elements carry dimensions of their streams: what they have, how they are spread.

A tensor of such a value has the carried dimensions in front, outermost first, and behind them its own ones.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final, TypeAlias

from stepcore.records import Record

Carried: TypeAlias = tuple[bool, ...]


class NotWide(Exception):
    """Something cannot be given whole rows; the message says why."""


class WideValue(Record):
    """A value with ``rank`` dimensions of its own.

    ``carried`` tells of each dimension of the stream that an element stands for, innermost first, whether the value has
    it; it is the same along the others. ``is_number``: a number of Python, which nothing has to be said of.
    """

    rank: int
    carried: Carried
    is_number: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether it carries a dimension of the stream."""
        return any(self.carried)


NUMBER: Final = WideValue(0, (), True)


def spread(values: Sequence[WideValue]) -> WideValue:
    """Return what comes of values that are taken number by number."""
    tensors = [each for each in values if not each.is_number]
    if not tensors:
        return NUMBER
    carried = tuple(any(flags) for flags in zip(*(each.carried for each in tensors), strict=True))
    return WideValue(max(each.rank for each in tensors), carried)


def aligned(text: str, value: WideValue, target: WideValue, *, is_atom: bool) -> str:
    """Return the text of ``value`` so that its dimensions stand under those of ``target``, which has all of them.

    ``is_atom``: the text may be followed by brackets as it is.
    """
    if value.is_number or target.is_number:
        return text
    places = [
        has for has, wanted in zip(reversed(value.carried), reversed(target.carried), strict=True) if wanted
    ]  # fmt: skip
    places += [False] * (target.rank - value.rank) + [True] * value.rank
    while places and not places[0]:
        places.pop(0)  # what is missing in front is spread anyway
    if all(places):
        return text
    last = max(place for place, has in enumerate(places) if not has)
    items = ", ".join(":" if has else "None" for has in places[: last + 1])
    return f"{text if is_atom else f'({text})'}[{items}]"


def dims_text(dims: Sequence[int]) -> str:
    """Return dimensions as the argument of a reduction."""
    return str(dims[0]) if len(dims) == 1 else f"({', '.join(map(str, dims))})"


def bare(text: str) -> str:
    """Return an expression without parentheses around all of it."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    try:
        inside, whole = (ast.dump(ast.parse(each, mode="eval")) for each in (text[1:-1], text))
    except SyntaxError:
        return text
    return text[1:-1] if inside == whole else text
