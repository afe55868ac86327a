"""One element of a tensor, by the indices that it has in what views are made of. No torch.

An index is a row of *atoms*, the most significant first: a dimension that a view has joined has several, one of size 1
none. So a view is resolved by dealing the atoms out again, whatever dimensions it joins and splits on the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.traced.graph import opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_SAME: Final = frozenset({"clone", "alias", "detach", "contiguous", "_to_copy"})
_DEALT: Final = frozenset({"view", "reshape", "_unsafe_view"})
VIEWS: Final = _SAME | _DEALT | {"expand", "permute", "unsqueeze", "squeeze", "select"}  # what is resolved


class Atom(Record):
    """One index: the name of what runs over ``size`` values, or the value itself."""

    name: str | int
    size: Dim


Index: TypeAlias = tuple[Atom, ...]


class IndexedValue(Record):
    """The element of a node's result at an index for each of its dimensions, outermost first."""

    node: Node
    at: tuple[Index, ...]

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All indices, those of size 1 left out."""
        return tuple(chain.from_iterable(self.at))


def whole_index(name: str, size: Dim) -> Index:
    """Return an index that runs over a dimension."""
    return () if size == 1 else (Atom(name, size),)


def resolved(node: Node, at: Sequence[Index]) -> IndexedValue:
    """Return the element behind all views, and behind conversions that only change the type.

    Raises:
        NoSchedule: a view splits what another index runs over.
    """
    at = tuple(at)
    while opname(node) in VIEWS and (opname(node) != "_to_copy" or _keeps_values(node)):
        node, at = behind(node, at)
    return IndexedValue(node, at)


def behind(node: Node, at: tuple[Index, ...], *, splits: bool = False) -> tuple[Node, tuple[Index, ...]]:
    """Return what one of ``VIEWS`` looks at, and the indices there.

    With ``splits`` an index that is one in the view may be several there: its pieces are named by it, in their order.

    Raises:
        NoSchedule: the view splits what another index runs over.
    """
    name, arguments = opname(node), _arguments(node)
    if name == "expand":
        at = aligned(node, at, arguments[0])
    elif name == "permute":
        order = [place % len(at) for place in arguments[1]]
        turned: list[Index] = [()] * len(at)
        for place, source in enumerate(order):
            turned[source] = at[place]
        at = tuple(turned)
    elif name == "unsqueeze":
        place = arguments[1] % len(at)
        at = at[:place] + at[place + 1 :]
    elif name == "squeeze":
        at = _inserted(at, [(place, ()) for place in _dims(arguments[1], len(shape_of(arguments[0])))])
    elif name == "select":
        dims = shape_of(arguments[0])
        place = arguments[1] % len(dims)
        size = dims[place]
        number = arguments[2] if arguments[2] >= 0 or size.constant is None else arguments[2] + size.constant
        at = _inserted(at, [(place, () if size == 1 else (Atom(number, size),))])
    elif name in _DEALT:
        at = _dealt(node, at, shape_of(arguments[0]), splits=splits)
    return arguments[0], at


def aligned(node: Node, at: Sequence[Index], given: Node) -> tuple[Index, ...]:
    """Return the indices of an argument that is broadcast to ``node``."""
    dims = shape_of(given)
    own = tuple(at)[len(at) - len(dims) :]
    return tuple(() if size == 1 else index for size, index in zip(dims, own, strict=True))


def _arguments(node: Node) -> Any:
    return node.args


def _dims(given: Any, rank: int) -> list[int]:
    return sorted(dim % rank for dim in ([given] if isinstance(given, int) else given))


def _inserted(at: tuple[Index, ...], places: Sequence[tuple[int, Index]]) -> tuple[Index, ...]:
    found = list(at)
    for place, index in places:
        found.insert(place, index)
    return tuple(found)


def _keeps_values(node: Node) -> bool:
    """Whether a conversion changes no value: of flags or whole numbers, or of a type to itself."""
    given: Any = node.args[0]
    before, after = (str(each.meta["val"].dtype) for each in (given, node))
    return before == after or (after in ("torch.float32", "torch.int64") and before in ("torch.bool", "torch.int64"))


def _dealt(node: Node, at: tuple[Index, ...], dims: tuple[Dim, ...], *, splits: bool) -> tuple[Index, ...]:
    atoms = list(chain.from_iterable(at))
    found: list[Index] = []
    for size in dims:
        taken: list[Atom] = []
        while (known := prod((each.size for each in taken), start=Dim.of(1))) != size:
            if not atoms:
                raise NoSchedule("it splits a dimension that is one in what follows", node)
            atom = atoms.pop(0)
            if splits and (pieces := _pieces(atom, size // known)) is not None:
                atom, rest = pieces
                atoms.insert(0, rest)
            taken.append(atom)
        found.append(tuple(taken))
    if atoms:
        raise NoSchedule("it splits a dimension that is one in what follows", node)
    return tuple(found)


def _pieces(atom: Atom, size: Dim) -> tuple[Atom, Atom] | None:
    """Return an index as two, the first of which runs over ``size``; None where that is all of it or no part."""
    rest = atom.size // size
    if rest in (0, 1) or rest * size != atom.size:
        return None
    return Atom(f"{atom.name}/0", size), Atom(f"{atom.name}/1", rest)
