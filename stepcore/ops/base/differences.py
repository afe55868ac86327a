"""Texts that show how two shapes or elements differ, and what leads from one to the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from stepcore.sizes.dim import Dim, Facts
from stepcore.types import Buffer, Element, Shape, STuple


def mismatch(what: str, expected: Shape, found: Shape, facts: Facts) -> str:
    """Return a message that shows two shapes below each other with the first differing size marked."""
    pairs = list(zip_longest(expected, found))
    differing = (i for i, (a, b) in enumerate(pairs) if a is None or b is None or not facts.equal(a, b))
    position = next(differing, 0)  # pragma: no mutate: there is one
    cells = [("" if a is None else str(a), "" if b is None else str(b)) for a, b in pairs]
    widths = [max(len(a), len(b)) for a, b in cells]
    column = len("expected [") + sum(width + 2 for width in widths[:position])
    return "\n".join(
        (
            what,
            "  expected [" + _row([a for a, _ in cells], widths),
            "  found    [" + _row([b for _, b in cells], widths),
            "  " + " " * column + "^" * max(widths[position], 1) + f" size {position}",
            *_said_of(*pairs[position]),
        )
    )


def _said_of(*sizes: Dim | None) -> Iterator[str]:
    """Yield a line for each of the sizes that a program derives: where it comes from."""
    for size in sizes:
        if size is not None and any(True for _ in size.derivations()):
            from stepcore.sizes.kinds import origin_of  # most mismatches are of static sizes

            yield f"  {origin_of(size)}"


def shape_bridge(expected: Shape, found: Shape) -> str:
    """Return as a line what gives a stream of shape ``found`` the shape ``expected``, or an empty text."""
    if len(expected) > 1 and found == expected[1:]:
        return f"\n  Repeat(n={expected[0]}) adds the innermost dimension {expected[0]}"
    if len(expected) > 1 and found == expected[::-1]:
        return "\n  sizes are written innermost first"
    return ""


def _row(cells: list[str], widths: list[int]) -> str:
    kept = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True) if cell]
    return ", ".join(kept).rstrip() + "]"


def element_mismatch(what: str, expected: Element, found: Element) -> str:
    """Return a message that shows two element types below each other, and what leads from one to the other."""
    way_out = _bridge(expected, found)
    return f"{what}\n  expected {expected}\n  found    {found}" + (f"\n  {way_out}" if way_out else "")


def _bridge(expected: Element, found: Element) -> str:
    """Return what makes elements of one type from those of the other, or an empty text where that is not plain."""
    match expected, found:
        case STuple(), STuple():
            return ""
        case STuple(), _:
            return "Zip makes tuples of two streams, and Map zips a tuple of streams itself"
        case _, STuple():
            return "an element function that takes the tuple returns what is wanted of it"
        case Buffer(), Buffer() if expected.shape == found.shape[::-1]:
            return "the sizes of buffers are written innermost first"
        case Buffer(), _ if expected.element == found:
            return f"Bufferize(a={len(expected.shape)}) makes buffers of elements"
        case _, Buffer() if found.element == expected:
            return "Streamify makes a stream of what buffers hold"
    return ""
