"""What operator semantics may use: data of a stream, and the functions of the runtime. No torch here.

A :class:`Data` holds one tensor per tuple component, outermost first, as the language page ("Order of sizes") says:
stream sizes reversed, then the element's shape. The operator files speak of *stream dimensions* in the
order of the language (index 0 innermost); :class:`Data` translates into tensor axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from stepcore.sizes.dim import Dim
from stepcore.types import Element, Shape, StreamType

if TYPE_CHECKING:
    from stepcore.ops.memory import AffineRead, OffChipTensor


class Data(Protocol):
    """The values of one stream. Immutable; views share memory."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Stream sizes, innermost first; a ragged one is no number, and is handed on only."""
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

    def read_dims(self, count: int, places: AffineRead) -> Data:
        """Read the innermost ``count`` stream dimensions, numbered innermost fastest, at other places."""
        ...

    def join_tiles(self, axis: int, element: Element) -> Data:
        """Put the tiles of the innermost stream dimension below (``axis`` 0) or beside each other (1), as one."""
        ...

    def split_tiles(self, axis: int, element: Element) -> Data:
        """Let rows (``axis`` 0) or columns (1) of the tiles follow each other in the innermost stream dimension."""
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

    def reassemble(self, branches: Sequence[Data], selector: Data, *, onehot: bool, by_arrival: bool) -> Data:
        """Return the chunks that each position of ``selector`` takes, ascending, as one more dimension outside of them.

        ``onehot`` promises one for each position; ``by_arrival`` says that the first to come stands first.
        """
        ...

    def arrive(self, streams: Sequence[Data]) -> Sequence[Data]:
        """Return the outermost chunks of streams as they come, and a selector that tells from which each came."""
        ...

    def loop(self, type: StreamType) -> Data:
        """Return the stream of a loop; only what reckons with whole streams has it, loops are run chunk by chunk."""
        ...

    def deal(self, data: Data, lanes: int, *, by_arrival: bool) -> Sequence[Data]:
        """Return the outermost chunks of a stream by lanes, in turn, and a selector that tells where each went.

        ``by_arrival`` says that a chunk goes to the lane that has room first.
        """
        ...

    def insert(self, data: Data, position: int, size: Any) -> Data:
        """Insert a dimension as :meth:`Data.insert_dim` does, of a size that another stream has: it may be ragged.

        To read something once for each element of a stream, insert its sizes at one position, the outermost first.
        """
        ...

    def split(self, data: Data, sizes: Sequence[Any]) -> Data:
        """Split the outermost dimension into ``sizes`` that another stream has, ragged ones among them."""
        ...

    def concat(self, branches: Sequence[Data]) -> Data:
        """Return streams one behind the other along their outermost dimension."""
        ...

    def pad(self, data: Data, chunk: int, value: float) -> tuple[Data, Data]:
        """Cut the innermost dimension into chunks, each list filled with ``value``; and tell what is filling."""
        ...

    def count_each(self, data: Data) -> Data:
        """Return the int64 numbers from 0 to ``n - 1`` for each element ``n``, as a new innermost dimension."""
        ...

    def count(self, size: int) -> Data:
        """Return the int64 numbers from 0 to ``size - 1``: data that come from no stream."""
        ...

    def load(self, memory: OffChipTensor, tile: Shape, places: AffineRead) -> Data:
        """Return tiles of ``memory``, as it was before the run."""
        ...

    def store(self, memory: OffChipTensor, base: int, data: Data) -> None:
        """Write the tiles of ``data``, in order, to the places from ``base`` on.

        Raises:
            RuleError: STEP228 where there are fewer places.
        """
        ...

    def load_at(self, memory: OffChipTensor, tile: Shape, addresses: Data) -> Data:
        """Return the tiles of ``memory`` at ``addresses``: as it was before the run, or as stores before this have it.

        Raises:
            RuleError: STEP227 where tiles do not divide the memory.
            SimError: STEP413 for an address outside of it.
        """
        ...

    def store_at(self, memory: OffChipTensor, addresses: Data, data: Data) -> Data:
        """Write the tiles of ``data``, in order, to ``addresses``, and return a true flag for each.

        Raises:
            RuleError: STEP227 where tiles do not divide the memory.
            SimError: STEP413 for an address outside of it.
        """
        ...

    def size(self, size: Dim | int) -> int:
        """Return the integer a size parameter is bound to."""
        ...
