"""Blocks of a function's tensors, and the element functions that compute one block from others. Loads no torch.

A *part* is a node of the traced graph with a label for each dimension (outermost first): an empty label takes the
whole dimension, any other one block of it at a time, and equal labels walk together. What a part needs of its arguments
follows from the operation (:mod:`stepagents.schedules.tile_ops`); one that mixes a labelled dimension has no tiles.

A block is a tile: the last two dimensions are its rows and columns, those before have blocks of 1. A tensor of one
dimension is a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stepagents.traced.graph import first_dims, opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

WHOLE: Final = ""
Labels: TypeAlias = tuple[str, ...]


class LabelNames(Record):
    """What a program calls the blocks of a label: how many a lane has, their size where it varies, a lane's index."""

    count: str
    size: str = ""
    index: str = ""


LABELS: Final = {
    "b": LabelNames("b", index="i"), "r": LabelNames("m", "TM", "i"), "c": LabelNames("n", "TN", "j"),
    "k": LabelNames("k", "TK"), "f": LabelNames("f", "TF", "h"), "t": LabelNames("t", "TT"),
    **{f"d{place}": LabelNames(f"n{place}", f"T{place}", index) for place, index in enumerate("ijhg")},
}  # fmt: skip


class NoSchedule(Exception):
    """Why a function has no tiled program: ``node`` is the operation where it fails, None for the whole function."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.node = node


class TilePart(Record):
    """One block of the result of ``node`` at a time; ``labels`` has a label for each of its dimensions.

    With ``bare`` it is the product of an ``addmm`` (or of any other product) before anything is added.
    """

    node: Node
    labels: Labels
    bare: bool = False

    @property
    def is_position(self) -> bool:
        """Whether it is where a block lies along a dimension that is cut: a number, which no memory holds."""
        return opname(self.node) == "arange" and self.labels != (WHOLE,)

    @property
    def is_of_rows(self) -> bool:
        """Whether its blocks are whole rows, of a matrix or of all dimensions but the last."""
        return len(self.labels) > 1 and {*self.labels[:-1]} == {"r"} and self.labels[-1] == WHOLE

    @property
    def matrix(self) -> Labels:
        """The labels of rows and columns of its tile."""
        return (WHOLE, WHOLE, *self.labels)[-2:]

    @property
    def outer(self) -> Labels:
        """The labels of the dimensions that tiles do not have."""
        return self.labels[:-2]


def shape_of(node: Node) -> tuple[Dim, ...]:
    """Return the sizes of a node's first result, outermost first."""
    return first_dims(node)


def runs_of(part: TilePart) -> dict[str, tuple[Dim, ...]]:
    """Return the dimensions that each label of a part runs over, outermost first."""
    dims = [*zip(part.labels, shape_of(part.node), strict=True)]
    return {label: tuple(size for own, size in dims if own == label) for label in part.labels if label != WHOLE}


_SCALARS: Final = {"torch.float32": "fp32", "torch.int64": "int64", "torch.bool": "bool"}


def scalar_of(node: Node) -> str:
    """Return the element type of a node's result.

    Raises:
        NoSchedule: tiles of it have no type here.
    """
    value: Any = node.meta["val"]
    given = value[0] if isinstance(value, tuple) else value
    found = _SCALARS.get(str(given.dtype))
    if found is None:
        raise NoSchedule(f"{node.name} is of {str(given.dtype).removeprefix('torch.')}", node)
    return found


class Blocks:
    """How large blocks are: ``sizes`` by label, besides those of outer dimensions, which are 1.

    ``bound`` are the sizes of the program.
    """

    def __init__(self, sizes: Mapping[str, Dim], bound: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.bound = bound

    def dims(self, node: Node) -> tuple[Dim, ...]:
        """Return the sizes of a tensor as its memory has them."""
        return shape_of(node)

    def tile(self, part: TilePart) -> tuple[Dim, Dim]:
        """Return the rows and columns of a part's tile.

        Raises:
            NoSchedule: a dimension that no tile has is wanted whole.
        """
        dims = self.dims(part.node)
        for size, label in zip(dims[:-2], part.outer, strict=True):
            if label == WHOLE and size != 1:
                raise NoSchedule("a block of this tensor would have more than the two dimensions of a tile", part.node)
            if label != part.matrix[0] and self.sizes.get(label, Dim.of(1)) != 1:
                raise NoSchedule("a block of this tensor would have more than the two dimensions of a tile", part.node)
        rows, columns = (Dim.of(1), Dim.of(1), *dims)[-2:]
        first, second = part.matrix
        return self.sizes.get(first, rows), self.sizes.get(second, columns)

    def numbers(self, part: TilePart) -> tuple[int, int]:
        """Return the rows and columns as numbers."""
        rows, columns = self.tile(part)
        return rows.bind(self.bound), columns.bind(self.bound)
