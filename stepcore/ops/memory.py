"""Memory off chip: parameters that operators read and write tile by tile.

A parameter of sizes ``[C, R, ...]`` (innermost first) that is cut into tiles of ``r`` rows and ``c`` columns is a grid
``[C//c, R//r, ...]`` of tiles, which are numbered row by row: the tiles of a row first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeVar

from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.types import Scalar, Shape, shape_text

N = TypeVar("N", int, Dim)


class OffChipTensor(Record):
    """A parameter as a value of programs: ``name``, its numbers, its sizes (innermost first), whether stores may
    write it.
    """

    name: str
    scalar: Scalar
    sizes: Shape
    written: bool = False
    is_off_chip: ClassVar[bool] = True

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        """Its sizes for messages: ``w ([D, F])``."""
        return f"{self.name} ({shape_text(self.sizes)})"


class AffineRead(Record):
    """An affine read: at the counters of ``shape`` (innermost first, the first fastest) comes the place ``base`` plus
    counters times ``stride``.
    """

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    base: int = 0


def lowest(base: int, shape: Sequence[int], stride: Sequence[int]) -> int:
    """Return the first place that an affine read reaches; sizes and strides are in one order."""
    return base + sum(min((size - 1) * step, 0) for size, step in zip(shape, stride, strict=True))


def highest(base: int, shape: Sequence[int], stride: Sequence[int]) -> int:
    """Return the last place that an affine read reaches."""
    return base + sum(max((size - 1) * step, 0) for size, step in zip(shape, stride, strict=True))


def in_order(shape: Sequence[N]) -> tuple[N | int, ...]:
    """Return the strides with which a read of ``shape`` (innermost first) goes through memory in its order."""
    strides: list[N | int] = []
    step: N | int = 1
    for size in shape:
        strides.append(step)
        step = size * step
    return tuple(strides)
