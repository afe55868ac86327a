"""What operator semantics may use: data of a stream, and the functions of the runtime. No torch here.

A :class:`Data` holds one tensor per tuple component, outermost first, as the language page ("Order of sizes") says:
stream sizes reversed, then the element's shape. The operator files speak of *stream dimensions* in the
order of the language (index 0 innermost); :class:`Data` translates into tensor axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from stepcore.sizes.dim import Dim
from stepcore.types import Element


class Data(Protocol):
    """The values of one stream. Immutable; views share memory."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Stream sizes, innermost first."""
        ...

    @property
    def element(self) -> Element:
        """Element type; its sizes may be symbolic."""
        ...

    def insert_dim(self, position: int, size: int) -> Data:
        """Insert a dimension before stream dimension ``position``; each element stands ``size`` times along it."""
        ...

    def merge_dims(self, first: int, last: int) -> Data:
        """Merge the stream dimensions ``first..last`` (inclusive) into one."""
        ...

    def split_dim(self, position: int, sizes: Sequence[int]) -> Data:
        """Split one stream dimension into ``sizes``, innermost first, whose product is its size (which may be 0)."""
        ...

    def into_element(self, count: int, element: Element) -> Data:
        """Let the innermost ``count`` stream dimensions become part of the element, now of type ``element``."""
        ...

    def out_of_element(self, count: int, element: Element) -> Data:
        """Let the ``count`` buffer dimensions become the innermost stream dimensions; each is now an ``element``."""
        ...


class Runtime(Protocol):
    """Functions that the semantics of operators are built from."""

    def zip(self, inputs: Sequence[Data]) -> Data:
        """Join the components of streams of equal shape."""
        ...

    def map(self, fn: Any, data: Data) -> Data:
        """Apply ``fn`` to every element."""
        ...

    def fold(self, fn: Any, data: Data, dims: int) -> Data:
        """Fold the innermost ``dims`` dimensions with ``fn``, innermost fastest, from ``fn``'s init."""
        ...

    def scan(self, fn: Any, data: Data, dims: int) -> Data:
        """As :meth:`fold`, but keep the state after each element."""
        ...

    def select(self, data: Data, selector: Data, branch: int) -> Data:
        """Keep, in order, the outermost-dimension chunks of ``data`` whose selector bit ``branch`` is set."""
        ...

    def merge(self, fn: Any, branches: Sequence[Data], selector: Data) -> Data:
        """Fold the next chunk of each selected branch, ascending, from ``fn``'s init; zeros where none is selected."""
        ...

    def count(self, size: int) -> Data:
        """Return the int64 numbers from 0 to ``size - 1``: data that come from no stream."""
        ...

    def size(self, size: Dim | int) -> int:
        """Return the integer a size parameter is bound to."""
        ...
