"""Views of tiles: what takes, joins or turns elements and computes none. Loads no torch.

All tiles are matrices, so dimensions are counted from the last one; outer dimensions have blocks of 1 and do not show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.bodies import TileText
from stepagents.schedules.parts import WHOLE, NoSchedule, TilePart, shape_of
from stepagents.traced.graph import opname, size_argument, size_text
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_VIEWS: Final = frozenset({"view", "reshape"})


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


def _squeezed(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args[0]
    dims: Any = part.node.args[1]
    rank = len(shape_of(given))
    places = sorted(dim % rank for dim in ([dims] if isinstance(dims, int) else dims))
    labels = list(part.labels)
    for place in places:
        labels.insert(place, WHOLE)
    text = body.argument(given, tuple(labels))
    if not any(place >= rank - 2 for place in places) or (rank == 2 and places == [0]):
        return text
    if rank == 2 and places == [1]:
        return f"{text}.reshape(1, -1)"
    raise NoSchedule("a view that changes the shape of its tiles has no form over tiles yet", part.node)


def _selected(body: TileText, part: TilePart) -> str:
    arguments: Any = part.node.args
    given, dim, _ = arguments
    dims = shape_of(given)
    place = int(dim) % len(dims)
    if dims[place] != 1:
        raise NoSchedule("an index that takes one of several along a dimension has no form over tiles yet", part.node)
    return body.argument(given, (*part.labels[:place], WHOLE, *part.labels[place:]))


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


def _unsqueezed(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args[0]
    rank = len(part.labels)
    dim = integer(part.node, 1)
    dim = dim - rank if dim >= 0 else dim
    labels = tuple(label for place, label in enumerate(part.labels) if place != rank + dim)
    text = body.argument(given, labels)
    if dim == -1:
        if rank > 2 and shape_of(given)[-2] != 1:
            raise NoSchedule("a block of this tensor would have more than the two dimensions of a tile", part.node)
        return f"{text}.reshape(-1, 1)"
    if dim == -2 and rank > 2 and labels[-2] == WHOLE and shape_of(given)[-2] != 1:
        raise NoSchedule("a block of this tensor would have more than the two dimensions of a tile", part.node)
    return text


def _viewed(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args[0]
    dims, out = shape_of(given), shape_of(part.node)
    if dims == out:
        return body.argument(given, part.labels)
    if opname(given) in _VIEWS and shape_of(given.args[0]) == out:  # there and back
        return body.argument(given.args[0], part.labels)
    same = 0
    while same < min(len(dims), len(out), 2) and dims[-1 - same] == out[-1 - same]:
        same += 1
    rest = part.labels[: len(out) - same]
    if same == 2 and len(set(rest)) == 1 and rest[0] != WHOLE:
        return body.argument(given, (rest[0],) * (len(dims) - 2) + part.labels[-2:])
    outer = [label for size, label in zip(out, rest, strict=False) if size != 1]
    if same == 2 and [size for size in dims[:-2] if size != 1] == [size for size in out[:-2] if size != 1]:
        labels = tuple(WHOLE if size == 1 else outer.pop(0) for size in dims[:-2])
        return body.argument(given, (*labels, *part.labels[-2:]))
    raise NoSchedule("a view that changes the shape of its tiles has no form over tiles yet", part.node)


def _transposed(body: TileText, part: TilePart) -> str:
    given: Any = part.node.args[0]
    order: Any = part.node.args[1]
    rank = len(order)
    places = [place % rank for place in order]
    labels = [WHOLE] * rank
    for place, source in enumerate(places):
        labels[source] = part.labels[place]
    if places == list(range(rank)):
        return body.argument(given, tuple(labels))
    if places != [*range(rank - 2), rank - 1, rank - 2]:
        raise NoSchedule("dimensions that no tile has cannot be exchanged in tiles", part.node)
    return f"{body.argument(given, tuple(labels))}.T"


VIEWS: Final[dict[str, Callable[[TileText, TilePart], str]]] = {
    "slice": _slice, "cat": _joined, "unsqueeze": _unsqueezed, "view": _viewed, "reshape": _viewed, "expand": _viewed,
    "arange": _positions, "gather": _gathered, "squeeze": _squeezed, "select": _selected, "permute": _transposed,
}  # fmt: skip
