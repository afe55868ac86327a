"""Views of tiles: what takes, joins or turns elements and computes none. Loads no torch.

All tiles are matrices, so dimensions are counted from the last one; outer dimensions have blocks of 1 and do not show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.bodies import TileText
from stepagents.schedules.indices import VIEWS as LOOKS
from stepagents.schedules.indices import Index, behind, whole_index
from stepagents.schedules.parts import WHOLE, NoSchedule, TilePart, shape_of
from stepagents.traced.graph import opname, size_argument, size_text
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_PLACE: Final = "@"  # between the label of a dimension and its number
_RESHAPED: Final = "a view that changes the shape of its tiles has no form over tiles yet"


def from_end(node: Node, dim: int, rank: int) -> int:
    """Return a dimension counted from the last one.

    Raises:
        NoSchedule: no tile has it.
    """
    place = dim - rank if dim >= 0 else dim
    if place < -2:
        raise NoSchedule(f"{opname(node)} runs over a dimension that no tile has", node)
    return place


def integer(node: Node, place: int) -> int:
    """Return an argument of ``node`` that is a number, 0 where it is left out."""
    given: Any = node.args[place] if len(node.args) > place else 0
    return int(given)


def _positions(body: TileText, part: TilePart) -> str:
    node = part.node
    ends = node.args if len(node.args) > 1 else (0, *node.args)
    if ends[0] != 0 or ends[2:] not in ((), (1,)):
        raise NoSchedule("numbers that do not count from 0 by 1 cannot be counted on chip", node)
    block = body.blocks.sizes.get(part.labels[0])
    if block is None:
        return f"torch.arange({size_text(shape_of(node)[0])}).reshape(1, -1)"
    same = next((each for each in body.inputs if each.is_position and each.labels == part.labels), None)
    if same is not None:
        return body.of(same)
    place = body.reading(part)
    return f"({block} * {place} + torch.arange({block})).reshape(1, -1)"


def _gathered(body: TileText, part: TilePart) -> str:
    arguments: Any = part.node.args
    given, dim, index = arguments[:3]
    rank = len(part.labels)
    place = from_end(part.node, int(dim), rank)
    if part.labels[place] != WHOLE or rank < 2:
        raise NoSchedule("an index cannot pick from a dimension that is cut into tiles", part.node)
    body.count(part, 1)
    return f"torch.gather({body.argument(given, part.labels)}, {place + 2}, {body.argument(index, part.labels)})"


def split(body: TileText, part: TilePart, whole: Node, index: int) -> str:
    """Return piece ``index`` of what ``split_with_sizes`` cuts.

    Raises:
        NoSchedule: the dimension is cut in another way already.
    """
    given: Any = whole.args[0]
    rank = len(part.labels)
    dim = from_end(whole, integer(whole, 2), rank)
    sizes = [size_argument(whole, (1, place)) for place in range(len(whole.args[1]))]  # type: ignore[arg-type]
    first = sum(sizes[:index], Dim.of(0))
    return _cut(body, part, given, dim, first, first + sizes[index])


def _slice(body: TileText, part: TilePart) -> str:
    node = part.node
    given: Any = node.args[0]
    rank = len(part.labels)
    dim = from_end(node, integer(node, 1), rank)
    first = size_argument(node, (2,)) if len(node.args) > 2 and node.args[2] is not None else Dim.of(0)
    if (len(node.args) > 4 and node.args[4] != 1) or (first.constant or 0) < 0:
        raise NoSchedule("a slice with a step, or from the end, has no form over tiles yet", node)
    return _cut(body, part, given, dim, first, first + shape_of(node)[dim])


def _cut(body: TileText, part: TilePart, given: Node, dim: int, first: Dim, end: Dim) -> str:
    if part.labels[dim] != WHOLE:
        raise NoSchedule("a slice cannot take a piece of a dimension that is cut into tiles", part.node)
    text = body.argument(given, part.labels)
    low, high = (size.bind(body.blocks.bound) if size.constant is None else size.constant for size in (first, end))
    low_text, high_text = (size_text(size) for size in (first, end))
    if low == 0 and high == shape_of(given)[dim].bind(body.blocks.bound):
        return text
    cut = f"{low_text}:{high_text}"
    return f"{text}[:, {cut}]" if dim == -1 else f"{text}[{cut}]"


def _joined(body: TileText, part: TilePart) -> str:
    items: Any = part.node.args[0]
    dim = from_end(part.node, integer(part.node, 1), len(part.labels))
    if part.labels[dim] != WHOLE:
        raise NoSchedule("tensors cannot be joined along a dimension that is cut into tiles", part.node)
    texts = [body.argument(item, part.labels) for item in items]
    return f"torch.cat([{', '.join(texts)}], {dim + 2})"


def _viewed(body: TileText, part: TilePart) -> str:
    """Return what views show: blocks of what they look at, whose elements are those of the part in their order."""
    node, at = part.node, tuple(_named(part))
    while opname(node) in _LOOKED_THROUGH:
        node, at = behind(node, at, splits=True)
    labels = tuple(_label(part, index) for index in at)
    given = TilePart(node, labels)
    if len(labels) > 1 and labels[-1] == labels[-2] != WHOLE and body.blocks.sizes.get(labels[-1]) != 1:
        raise NoSchedule(_RESHAPED, part.node)
    text = body.of(given)
    body.blocks.tile(given)  # a block of more than two dimensions is refused
    _, columns = body.blocks.tile(part)
    sides = [_sides(body, each, pieces) for each, pieces in ((part, _named(part)), (given, at))]
    shown, seen = ([_apart(side, at) for side in pair] for pair in sides)
    known = {*seen[0], *seen[1]}
    if not {*shown[0], *shown[1]} <= known:
        raise NoSchedule("a view that repeats a tile has no form over tiles yet", part.node)
    if shown == seen:
        return text
    if shown == [seen[1], seen[0]] and all(shown):
        return f"{text}.T"
    if [*shown[0], *shown[1]] != [*seen[0], *seen[1]]:
        raise NoSchedule("dimensions that no tile has cannot be exchanged in tiles", part.node)
    if not shown[0]:
        return f"{text}.reshape(1, -1)"
    return f"{text}.reshape(-1, {size_text(columns)})"


def _named(part: TilePart) -> list[Index]:
    """Return an index for each dimension of a part, named by its label and its place."""
    sizes = zip(part.labels, shape_of(part.node), strict=True)
    return [whole_index(f"{label}{_PLACE}{place}", size) for place, (label, size) in enumerate(sizes)]


def _label(part: TilePart, index: Index) -> str:
    """Return the label of a dimension with such an index.

    Raises:
        NoSchedule: it has several, or a single place of it is wanted.
    """
    if any(isinstance(atom.name, int) for atom in index):
        raise NoSchedule("an index that takes one of several along a dimension has no form over tiles yet", part.node)
    found = {str(atom.name).partition(_PLACE)[0] for atom in index} or {WHOLE}
    if len(found) > 1:
        raise NoSchedule(_RESHAPED, part.node)
    return found.pop()


def _sides(body: TileText, part: TilePart, at: Sequence[Index]) -> tuple[list[str], list[str]]:
    """Return what runs over the rows of a part's tile, and what over its columns: labels, and names of whole indices.

    A label whose blocks are of 1 does not show.
    """
    labels = (WHOLE, WHOLE, *part.labels)
    indices: list[Index] = [(), (), *at]
    names: list[list[str]] = [[], []]
    for place, (label, index) in enumerate(zip(labels, indices, strict=True)):
        side = names[place == len(labels) - 1]
        if label == WHOLE:
            side += [str(atom.name) for atom in index]
        elif index and body.blocks.sizes.get(label, Dim.of(1)) != 1 and label not in side:
            side.append(label)
    return names[0], names[1]


def _apart(names: Sequence[str], at: Sequence[Index]) -> list[str]:
    """Return names of whole indices as those of the pieces that a view has split them into."""
    known = [str(atom.name) for index in at for atom in index]
    found: list[str] = []
    for name in names:
        found += sorted(each for each in known if each.startswith(f"{name}/")) or [name]
    return found


_LOOKED_THROUGH: Final = LOOKS - {"_to_copy"}  # which changes the type
VIEWS: Final[dict[str, Callable[[TileText, TilePart], str]]] = {
    **dict.fromkeys(_LOOKED_THROUGH, _viewed),
    "slice": _slice, "cat": _joined, "arange": _positions, "gather": _gathered,
}  # fmt: skip
