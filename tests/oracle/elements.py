"""Element types with integer sizes (the oracle only ever sees bound programs), compared structurally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Scalar:
    """One number; its tensor has shape `()`."""

    name: str = "fp32"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor at one stream position."""
        return ()


@dataclass(frozen=True)
class Multihot:
    """A selector of `length` bits; its tensor has shape `(length,)`."""

    scalar: Scalar
    length: int

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor at one stream position."""
        return (self.length,)


@dataclass(frozen=True)
class Tile:
    """A matrix of rows and columns: the one type that is written outermost first."""

    scalar: Scalar
    sizes: tuple[int, int]  # of a function's type also `Free`

    def __init__(self, scalar: Scalar, sizes: Sequence[int]) -> None:
        rows, columns = sizes
        object.__setattr__(self, "scalar", scalar)
        object.__setattr__(self, "sizes", (rows, columns))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor at one stream position."""
        return self.sizes


@dataclass(frozen=True)
class Buffer:
    """An on-chip tensor whose `sizes` (counts of `inner`) are written innermost first."""

    inner: Scalar | Multihot | Tile
    sizes: tuple[int, ...]

    def __init__(self, inner: Scalar | Multihot | Tile, sizes: Sequence[int]) -> None:
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "sizes", tuple(sizes))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor at one stream position: the sizes reversed, then the inner shape."""
        return self.sizes[::-1] + self.inner.shape


@dataclass(frozen=True)
class Free:
    """Any size in the types of a function: what it is, each use tells."""

    name: str


Single = Scalar | Multihot | Tile | Buffer


@dataclass(frozen=True)
class STuple:
    """Several components that travel together; a tuple of one differs from its component."""

    parts: tuple[Single, ...]


Element = Single | STuple


def components(element: Element) -> tuple[Single, ...]:
    """The components of a tuple type, or the type itself as the only component."""
    return element.parts if isinstance(element, STuple) else (element,)


def dtype_of(part: Single, floating: torch.dtype) -> torch.dtype:
    """The dtype of one component in a run whose floating-point numbers are of this one."""
    scalar = part
    while not isinstance(scalar, Scalar):
        scalar = scalar.inner if isinstance(scalar, Buffer) else scalar.scalar
    return {"int64": torch.int64, "int32": torch.int32, "bool": torch.bool}.get(scalar.name, floating)


def _parts(value: Any) -> tuple[Any, ...] | None:
    """What a type is made of, None for a number or a name."""
    match value:
        case Multihot():
            return (value.scalar, value.length)
        case Tile():
            return (value.scalar, *value.sizes)
        case Buffer():
            return (value.inner, *value.sizes)
        case STuple():
            return value.parts
        case _:
            return None


def matched(pattern: Any, value: Any, sizes: dict[Free, int]) -> bool:
    """Whether a type fits one with free sizes; what these are is written into `sizes`."""
    if isinstance(pattern, Free):
        return bool(sizes.setdefault(pattern, value) == value)
    ours, theirs = _parts(pattern), _parts(value)
    if ours is None or theirs is None:
        return bool(pattern == value)
    same = type(pattern) is type(value) and len(ours) == len(theirs)
    return same and all(matched(one, other, sizes) for one, other in zip(ours, theirs, strict=True))


def bound_to(pattern: Any, sizes: dict[Free, int]) -> Any:
    """A type with numbers for its free sizes."""
    match pattern:
        case Free():
            return sizes[pattern]
        case Multihot():
            return Multihot(pattern.scalar, bound_to(pattern.length, sizes))
        case Tile():
            return Tile(pattern.scalar, [bound_to(size, sizes) for size in pattern.sizes])
        case Buffer():
            return Buffer(bound_to(pattern.inner, sizes), [bound_to(size, sizes) for size in pattern.sizes])
        case STuple():
            return STuple(tuple(bound_to(part, sizes) for part in pattern.parts))
        case _:
            return pattern
