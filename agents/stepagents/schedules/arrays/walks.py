"""Where the blocks of a tensor lie in memory: tiles of its last two dimensions, several of them where it has more.

A block is read as a stack of tiles, which Retile joins. All is text for programs: counts and strides in tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepagents.schedules.arrays.parts import is_loop, is_whole
from stepagents.schedules.indices import Atom, Index
from stepagents.schedules.parts import NoSchedule
from stepcore.printing.code_lines import factor
from stepcore.records import Record
from stepcore.sizes.dim import Dim, product


class AtomStride(Record):
    """How many tiles further the next place of an atom is: as text for programs, and as a size."""

    atom: Atom
    text: str
    tiles: Dim


class Walk(Record):
    """A block in memory: the rows and columns of its tiles, and their texts.

    ``order`` are loops and whole atoms that tiles do not have, outermost first.
    """

    tile: tuple[Dim, Dim]
    texts: tuple[str, str]
    order: tuple[AtomStride, ...]

    @property
    def stack(self) -> tuple[AtomStride, ...]:
        """What is whole in a block, and in no tile."""
        return tuple(each for each in self.order if not is_loop(each.atom))

    @property
    def count(self) -> Dim:
        """How many tiles a block has."""
        return product(each.atom.size for each in self.stack)

    @property
    def block(self) -> tuple[Dim, Dim]:
        """Rows and columns of the tile that the stack is joined to."""
        return self.count * self.tile[0], self.tile[1]

    def step(self, loop: str) -> AtomStride | None:
        """Return how far the next place of a loop is, None where the tensor does not have it."""
        return next((each for each in self.order if each.atom.name == loop), None)


def walk_of(dims: Sequence[Dim], at: Sequence[Index], text_of: Callable[[Atom], str]) -> Walk:
    """Return where a block of a tensor with such sizes lies; ``text_of`` writes the size of an atom.

    Raises:
        NoSchedule: the columns of a block do not lie beside each other.
    """
    *outer, row, column = at if len(at) > 1 else ((), *at)
    sizes = (Dim.of(1), *dims)[-2:]
    (row_lead, rows), (column_lead, columns) = map(_trailing, (row, column))
    if not all(map(is_loop, column_lead)):
        raise NoSchedule("columns of a block that do not lie beside each other cannot be read as tiles")
    order: list[AtomStride] = []
    factors: list[str] = []
    tiles = Dim.of(1)
    sides = [*zip(outer, dims, strict=False), (row_lead, None), (column_lead, None)]
    for index, size in reversed(sides):
        inner = [*factors]
        for atom in reversed(index):
            shown = factors[0] if len(factors) == 1 else " * ".join(map(factor, factors))
            order.insert(0, AtomStride(atom, shown or "1", tiles))
            factors.insert(0, text_of(atom))
            tiles *= atom.size
        if size is not None and size != 1:
            factors = [str(size), *inner]
    texts = (_tile_text(sizes[0], row, rows, text_of), _tile_text(sizes[1], column, columns, text_of))
    tile = (_size(sizes[0], row, rows), _size(sizes[1], column, columns))
    return Walk(tile, texts, tuple(order))


def _trailing(index: Index) -> tuple[Index, Index]:
    """Return the atoms of an index up to the last loop, and those behind it."""
    place = len(index)
    while place and not is_loop(index[place - 1]):
        place -= 1
    return index[:place], index[place:]


def _size(size: Dim, index: Index, inside: Index) -> Dim:
    return size if is_whole(index) else product(atom.size for atom in inside)


def _tile_text(size: Dim, index: Index, inside: Index, text_of: Callable[[Atom], str]) -> str:
    if is_whole(index):
        text = str(size)
        return text[1:-1] if text.startswith("(") and text.find(")") == len(text) - 1 else text
    return " * ".join(factor(text_of(atom)) for atom in inside) or "1"
