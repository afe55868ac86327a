"""Sums of products by an equation (``einsum``): what it asks of its operands, and what it gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from stepcore.fn.shapes.operands import FLOATS
from stepcore.fn.shapes.rules import Inferring, Kwargs
from stepcore.fn.shapes.values import AbstractTensor, Comparer, Number, ShapeMismatch, Size, Sizes, shape_text
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted

_REST: Final = "..."  # dimensions without a name
_TERM: Final = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def einsum(s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> AbstractTensor | None:
    """Return what ``einsum`` gives, None where its equation or its operands are not known.

    Raises:
        ShapeMismatch: they are more or fewer than the equation has, or have other dimensions; a letter has two sizes.
    """
    s.count(None)
    if not args or not isinstance(args[0], str):
        return None
    is_list = len(args) == 2 and isinstance(args[1], list | tuple)
    given = list(args[1]) if is_list else list(args[1:])
    if not is_list and any(isinstance(value, Dim | Number | bool | str) for value in given):
        raise ShapeMismatch("einsum takes tensors, and here is a number or a text; multiply by it instead")
    tensors = [value for value in given if isinstance(value, AbstractTensor)]
    if len(tensors) < len(given):
        return None
    left, arrow, out = args[0].replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(given):
        if is_list:
            return None  # a list of operands may have grown
        raise ShapeMismatch(
            f"the equation {args[0]!r} has {counted(len(terms), 'operand')}, and {len(given)} are given"
        )
    if not all(map(_TERM.fullmatch, (*terms, out))):
        raise ShapeMismatch(f"a term of {args[0]!r} has other signs than letters and one {_REST}")
    dtypes = {tensor.dtype for tensor in tensors}
    dtype = dtypes.pop() if len(dtypes) == 1 and dtypes <= {*FLOATS} else None
    sizes, rest = _sizes(s.compare, args[0], terms, tensors)
    if not arrow:
        letters = Counter("".join(terms).replace(".", ""))
        out = _REST + "".join(sorted(letter for letter, times in letters.items() if times == 1))
    return AbstractTensor(_result(args[0], out, sizes, rest), dtype)


def _sizes(
    compare: Comparer, equation: str, terms: Sequence[str], tensors: Sequence[AbstractTensor]
) -> tuple[dict[str, Size], Sizes | None]:
    """Return the size of each letter, and the dimensions for which ``...`` stands (None: not known)."""
    sizes: dict[str, Size] = {}
    rests: list[Sizes | None] = []
    for term, value in zip(terms, tensors, strict=True):
        before, has_rest, after = term.partition(_REST)
        letters = before + after
        if value.shape is None:
            sizes |= dict.fromkeys(letters)
            rests.append(None)
            continue
        over = len(value.shape) - len(letters)
        if over < 0 or (over and not has_rest):
            text = f"{term!r} names {counted(len(letters), 'dimension')}, and its operand is {shape_text(value.shape)}"
            raise ShapeMismatch(text)
        rests.append(value.shape[len(before) : len(before) + over])
        for letter, size in zip(
            letters, (*value.shape[: len(before)], *value.shape[len(before) + over :]), strict=True
        ):
            sizes[letter] = _together(compare, equation, letter, sizes.get(letter, size), size)
    return sizes, compare.broadcast(rests, f" where ... stands for them in {equation!r}")


def _together(compare: Comparer, equation: str, letter: str, known: Size, size: Size) -> Size:
    """Return the size of a letter that has two: equal ones, or one of 1."""
    if compare.differ(known, size) and False is compare.is_one(known) is compare.is_one(size):
        raise ShapeMismatch(f"{letter} is {known} and {size} in {equation!r}")
    found = compare.broadcast([(known,), (size,)])
    return None if found is None else found[0]


def _result(equation: str, out: str, sizes: dict[str, Size], rest: Sizes | None) -> Sizes | None:
    before, has_rest, after = out.partition(_REST)
    letters = before + after
    for letter in letters:
        if letter not in sizes or letters.count(letter) > 1:
            raise ShapeMismatch(f"{equation!r} gives {letter}, which stands in its operands and once in its result")
    if has_rest and rest is None:
        return None
    named = [sizes[letter] for letter in letters]
    return (*named[: len(before)], *((rest or ()) if has_rest else ()), *named[len(before) :])
