"""Declared outputs with sizes that only a run knows: a named one fits any derived one, and then stands for it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from stepcore.sizes.dim import OPEN, Dim, Facts
from stepcore.sizes.kinds import kind_of
from stepcore.types import StreamType, tensor_shapes


class Fitting(Facts):
    """Compares declared sizes (left) with found ones, as ``facts`` do and by what names of outputs stand for.

    A name that no input has stands for the first size that it meets, of its kind or one of which more is known, and for
    this size in all outputs. One of an input stands for itself.
    """

    def __init__(self, facts: Facts, inputs: Iterable[StreamType]) -> None:
        super().__init__()
        self.absorb(facts)
        self._inputs = tuple(inputs)
        self._stands_for: dict[str, Dim] = {}

    @cached_property
    def _taken(self) -> frozenset[str]:
        """The names of the inputs."""
        sizes = (size for stream in self._inputs for shape in tensor_shapes(stream) for size in shape)
        return frozenset(name for size in sizes for name in size.symbols())

    def equal(self, left: Dim, right: Dim) -> bool:
        """Return whether the declared size ``left`` fits ``right``; a name may then stand for it from now on."""
        if super().equal(left, right):
            return True
        if self._stands_for and super().equal(left.substitute(self._stands_for.get), right):
            return True
        name = str(left)
        if name[0] not in OPEN or not left.is_symbol or name in self._taken or name in self._stands_for:
            return False
        if kind_of(right) > kind_of(left):
            return False
        self._stands_for[name] = right
        return True
