"""Blocks of tensors of any number of dimensions: an index for each, made of loops and of what a block has whole.

A dimension is a row of *atoms* (:mod:`stepagents.schedules.indices`), the most significant first: a loop takes one of
its places at a time, any other atom is whole in a block. A dimension in blocks of ``T`` is a loop over blocks and ``T``
whole places behind it. So views deal atoms out again, whatever they join, split or exchange, and where the block lies
in memory follows from them (:mod:`stepagents.schedules.arrays.walks`). No torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.indices import Atom, Index, behind
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.traced.graph import opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim, product

if TYPE_CHECKING:
    from torch.fx import Node

LOOP: Final = "d"  # how names of loops begin: the number of the result's dimension follows
_WHOLE: Final = ""
_PIECE: Final = "/"
DEALT: Final = frozenset({"view", "reshape", "_unsafe_view"})
VIEWS: Final = DEALT | {"clone", "alias", "detach", "contiguous", "expand", "permute", "unsqueeze", "squeeze"}
_SPLIT: Final = "it splits or joins a dimension that is cut into blocks in another way"


class ArrayPart(Record):
    """A block of a node's result: an index for each of its dimensions, outermost first."""

    node: Node
    at: tuple[Index, ...]


class LoopSplit(Exception):
    """A view needs a loop as two: ``name`` is the loop, ``outer`` the places of the outer one of them."""

    def __init__(self, name: str, outer: Dim) -> None:
        super().__init__(name)
        self.name, self.outer = name, outer


def is_loop(atom: Atom) -> bool:
    """Whether an atom is a loop."""
    return str(atom.name).startswith(LOOP)


def whole(size: Dim) -> Index:
    """Return the index of a dimension that a block has whole."""
    return () if size == 1 else (Atom(_WHOLE, size),)


def is_whole(index: Index) -> bool:
    """Whether no loop runs over a dimension."""
    return not any(map(is_loop, index))


def span(size: Dim, index: Index) -> Dim:
    """Return how many places of a dimension of ``size`` a block has."""
    return size if is_whole(index) else product(atom.size for atom in index if not is_loop(atom))


def block_dims(part: ArrayPart) -> tuple[Dim, ...]:
    """Return the sizes of a block, outermost first."""
    return tuple(span(size, index) for size, index in zip(shape_of(part.node), part.at, strict=True))


def loops_of(part: ArrayPart) -> set[str]:
    """Return the names of the loops that choose a part."""
    return {str(atom.name) for atom in chain.from_iterable(part.at) if is_loop(atom)}


def viewed(part: ArrayPart, bound: Mapping[str, int]) -> ArrayPart:
    """Return what one of ``VIEWS`` shows a part of.

    Raises:
        NoSchedule: the view needs blocks of another kind.
        LoopSplit: it needs a loop as two.
    """
    arguments: Any = part.node.args
    if opname(part.node) in DEALT:
        return ArrayPart(arguments[0], dealt(part, shape_of(arguments[0]), bound))
    return ArrayPart(*behind(part.node, part.at))


def dealt(part: ArrayPart, dims: Sequence[Dim], bound: Mapping[str, int]) -> tuple[Index, ...]:
    """Return the atoms of a part as indices of what it is a reshaped view of, with ``dims``.

    Sizes are compared as numbers: blocks divide what they cut, which an expression of symbols does not say.

    Raises:
        NoSchedule: the view needs blocks of another kind.
        LoopSplit: it needs a loop as two.
    """
    atoms = [atom for atom in chain.from_iterable(part.at) if is_loop(atom) or atom.size.bind(bound) > 1]
    found: list[Index] = []
    for size in dims:
        taken: list[Atom] = []
        wanted = size.bind(bound)
        while wanted > 1:
            if not atoms:
                raise NoSchedule(_SPLIT, part.node)
            atom = atoms.pop(0)
            own = atom.size.bind(bound)
            if wanted % own:
                if own % wanted:
                    raise NoSchedule(_SPLIT, part.node)
                outer = size // product(each.size for each in taken) if taken else size
                atom, rest = _apart(atom, outer)
                atoms.insert(0, rest)
                own = wanted
            wanted //= own
            taken.append(atom)
        found.append(tuple(taken))
    if atoms:
        raise NoSchedule(_SPLIT, part.node)
    return tuple(found)


def _apart(atom: Atom, outer: Dim) -> tuple[Atom, Atom]:
    if is_loop(atom):
        raise LoopSplit(str(atom.name), outer)
    return Atom(_WHOLE, outer), Atom(_WHOLE, atom.size // outer)


def pieces(loop: Atom, outer: Dim) -> tuple[Atom, Atom]:
    """Return a loop as two, the outer one of which has ``outer`` places."""
    return Atom(f"{loop.name}{_PIECE}0", outer), Atom(f"{loop.name}{_PIECE}1", loop.size // outer)
