"""Element types with integer sizes (the oracle only ever sees bound programs), compared structurally."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


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
class Buffer:
    """An on-chip tensor whose `sizes` (counts of `inner`) are written innermost first."""

    inner: Scalar | Multihot
    sizes: tuple[int, ...]

    def __init__(self, inner: Scalar | Multihot, sizes: Sequence[int]) -> None:
        object.__setattr__(self, "inner", inner)
        object.__setattr__(self, "sizes", tuple(sizes))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor at one stream position: the sizes reversed, then the inner shape."""
        return self.sizes[::-1] + self.inner.shape


Single = Scalar | Multihot | Buffer


@dataclass(frozen=True)
class STuple:
    """Several components that travel together; a tuple of one differs from its component."""

    parts: tuple[Single, ...]


Element = Single | STuple


def components(element: Element) -> tuple[Single, ...]:
    """The components of a tuple type, or the type itself as the only component."""
    return element.parts if isinstance(element, STuple) else (element,)
