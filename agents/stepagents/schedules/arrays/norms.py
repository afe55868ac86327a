"""Normalizations of blocks: by the mean and variance of their own last dimensions, groups of channels, or batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.arrays.body import ArrayBody, need_whole
from stepagents.schedules.arrays.parts import ArrayPart, block_dims, is_loop
from stepagents.schedules.indices import Index
from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.traced.graph import opname, scalar_argument, size_argument
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_FLOPS: Final = 9  # for each element


def layer_norm(body: ArrayBody, part: ArrayPart, node: Node) -> str:
    """Return the text of a normalization over the last dimensions.

    Raises:
        NoSchedule: one of them is cut.
    """
    given: Any = node.args
    rank = len(part.at)
    places = range(rank - len(given[1]), rank)
    need_whole(part, *places)
    text = _scaled(body, body.of(ArrayPart(given[0], part.at)), places, scalar_argument(node, (4,)))
    body.count(part, _FLOPS)
    return _weighted(
        text, [None if each is None else body.of(ArrayPart(each, part.at[places[0] :])) for each in given[2:4]]
    )


def _batch_norm(body: ArrayBody, part: ArrayPart, node: Node) -> str:
    """Return the text of a normalization of each channel, which is dimension 1, by given numbers or by its own."""
    given: Any = node.args
    rank = len(part.at)
    x = body.of(ArrayPart(given[0], part.at))
    epsilon = scalar_argument(node, (len(given) - 1,))
    body.count(part, _FLOPS)

    def channel(each: Node | None) -> str | None:
        return None if each is None else _in_channels(body, ArrayPart(each, (part.at[1],)), rank)

    if opname(node) == "_native_batch_norm_legit_no_training":
        text = f"({x} - {channel(given[3])}) * torch.rsqrt({channel(given[4])} + {epsilon})"
    else:
        places = [place for place in range(rank) if place != 1]
        need_whole(part, *places)
        text = _scaled(body, x, places, epsilon)
    return _weighted(text, [channel(given[1]), channel(given[2])])


def _group_norm(body: ArrayBody, part: ArrayPart, node: Node) -> str:
    """Return the text of a normalization of groups of channels.

    Raises:
        NoSchedule: a block has parts of groups, or more than one along what is cut.
    """
    given: Any = node.args
    rank = len(part.at)
    need_whole(part, *range(2, rank))
    dims = block_dims(part)
    each = shape_of(part.node)[1] // size_argument(node, (6,))
    if dims[1].bind(body.bound) % each.bind(body.bound) or not _follow(part.at[1]):
        raise NoSchedule("a block of its channels holds no whole groups", node)
    body.count(part, _FLOPS)
    x = body.of(ArrayPart(given[0], part.at))
    blocks = (dims[0], dims[1] // each, each, *dims[2:])
    groups = body.keep(body.reshaped(x, dims, blocks), "groups")
    normed = body.keep(_scaled(body, groups, range(2, rank + 1), scalar_argument(node, (7,))), "normed")
    weights = [
        None if item is None else _in_channels(body, ArrayPart(item, (part.at[1],)), rank) for item in given[1:3]
    ]
    return _weighted(body.reshaped(normed, blocks, dims), weights)


def _follow(index: Index) -> bool:
    """Whether the places of a dimension that a block has follow one another."""
    return sorted(map(is_loop, index), reverse=True) == [*map(is_loop, index)]


def _in_channels(body: ArrayBody, part: ArrayPart, rank: int) -> str:
    """Return a number for each channel as what is broadcast to blocks with so many dimensions."""
    dims = block_dims(part)
    return body.reshaped(body.of(part), dims, (*dims, *(Dim.of(1) for _ in range(2, rank))))


def _scaled(body: ArrayBody, text: str, places: Sequence[int], epsilon: str) -> str:
    """Return a block with mean 0 and variance 1 over some of its dimensions."""
    axes = str(places[0]) if len(places) == 1 else f"({', '.join(map(str, places))})"
    centred = body.keep(f"{text} - torch.mean({text}, {axes}, keepdim=True)", "centred")
    variance = body.keep(f"torch.mean({centred} * {centred}, {axes}, keepdim=True)", "variance")
    return f"{centred} * torch.rsqrt({variance} + {epsilon})"


def _weighted(text: str, weights: Sequence[str | None]) -> str:
    for weight, sign in zip(weights, "*+", strict=True):
        if weight is not None:
            text = f"{text} {sign} {weight}"
    return text


NORMS: Final[Mapping[str, Callable[[ArrayBody, ArrayPart, Any], str]]] = {
    "_native_batch_norm_legit": _batch_norm, "_native_batch_norm_legit_no_training": _batch_norm,
    "native_group_norm": _group_norm,
}  # fmt: skip
