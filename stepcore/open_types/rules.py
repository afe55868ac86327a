"""Where sizes that only a run knows may stand in types."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from stepcore.sizes.dim import OPEN, Dim
from stepcore.sizes.kinds import with_home
from stepcore.types import Buffer, Element, Multihot, Shape, StreamType, STuple, Tile, element_count


def at_home(stream: StreamType) -> StreamType:
    """Return a declared type whose ragged sizes know for how many positions they have values."""
    shape = list(stream.shape)
    if not any(size.is_ragged for size in shape[:-1]):
        return stream
    for index in reversed(range(len(shape) - 1)):
        if shape[index].is_ragged:
            shape[index] = with_home(shape[index], element_count(shape[index + 1 :]))
    return replace(stream, shape=tuple(shape))


class KindFault(NamedTuple):
    """Why a size of some type cannot be of its kind; ``name`` is the symbol that shows it."""

    name: str
    message: str


def fault_in(element: Element) -> KindFault | None:
    """Return what is wrong with the kinds of the sizes in an element type.

    A selector's length is static, a tile has one shape in a run, and of a buffer only the outermost size may be ragged.
    """
    match element:
        case Multihot() if element.length.is_open:
            return _fault([element.length], "the length of a selector is static: it says how many branches there are")
        case Tile() if any(size.is_ragged for size in element.shape):
            text = "a tile may be dynamic, ?L, but not ragged: all tiles of a stream have one shape"
            return _fault([size for size in element.shape if size.is_ragged], text)
        case Buffer():
            inner = [size for size in element.shape[:-1] if size.is_ragged]
            text = "of the dimensions of a buffer only the outermost, the last, may be ragged"
            return _fault(inner, text) if inner else fault_in(element.element)
        case STuple():
            return next((fault for item in element.items if (fault := fault_in(item))), None)
    return None


def outermost_fault(shape: Shape) -> KindFault | None:
    """Return what is wrong with the shape of a stream: its outermost size is ragged."""
    if not shape or not shape[-1].is_ragged:
        return None
    text = "the outermost size of a stream is never ragged: no dimension is outside; a dynamic one is written ?L"
    return _fault([shape[-1]], text)


def _fault(sizes: Sequence[Dim], text: str) -> KindFault:
    name = next(name for size in sizes for name in sorted(size.symbols()) if name[0] in OPEN)
    return KindFault(name, f"{name}: {text}")


def with_sizes(element: Element, replace_symbol: Callable[[str], Dim | None]) -> Element:
    """Return an element type with symbols replaced as :meth:`Dim.substitute` does."""
    match element:
        case Multihot():
            return Multihot(element.scalar, element.length.substitute(replace_symbol))
        case Buffer():
            inner = with_sizes(element.element, replace_symbol)
            assert not isinstance(inner, Buffer | STuple), "an element stays of its kind"
            return Buffer(inner, _replaced(element.shape, replace_symbol))
        case Tile():
            return Tile(element.scalar, _replaced(element.shape, replace_symbol))
        case STuple():
            items = [with_sizes(item, replace_symbol) for item in element.items]
            return STuple(item for item in items if not isinstance(item, STuple))
    return element


def _replaced(shape: Iterable[Dim], replace_symbol: Callable[[str], Dim | None]) -> list[Dim]:
    return [size.substitute(replace_symbol) for size in shape]
