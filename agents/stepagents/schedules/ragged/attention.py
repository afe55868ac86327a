"""Attention over caches that are filled up to a length each, recognized in a traced graph by its operations. No torch.

``softmax(where(position < length, scores, -inf)) @ values``: what lies behind a request's length has the weight 0, so
it need not be read. A mask that is added (0 where something is seen, -inf or -1e9 elsewhere) is the same. Names do not
matter, and nothing else may be computed behind the last product.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.parts import NoSchedule, shape_of
from stepagents.schedules.tile_ops import PRODUCTS
from stepagents.traced.graph import FIXED, opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction, TracedInput

_VIEWS: Final = frozenset({"view", "expand", "clone", "alias", "detach", "unsqueeze", "squeeze", "reshape"})
_CASTS: Final = _VIEWS | {"_to_copy"}
_NOTHING: Final = -1e9  # scores that are at most that have the weight 0 beside any other
# By the comparison of positions with lengths: whether what holds is seen, and how many rows more than the length.
_COMPARED: Final[Mapping[str, tuple[bool, int]]] = {
    "lt": (True, 0),
    "le": (True, 1),
    "ge": (False, 0),
    "gt": (False, 1),
}
_TURNED: Final[Mapping[str, str]] = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}


class RaggedAttention(Record):
    """What was recognized: ``product`` weighs values, ``scores`` are what is masked (``[..., rows, caches]``).

    ``lengths`` has a whole number for each request, of which ``more`` rows further are seen. ``outer`` are the sizes
    before rows and columns: requests, then what each of them has by itself (key heads). With ``is_safe`` a request
    that sees nothing gives 0, else NaN.
    """

    product: Node
    scores: Node
    lengths: TracedInput
    outer: tuple[Dim, ...]
    more: int
    is_safe: bool

    @property
    def requests(self) -> Dim:
        """How many lengths there are."""
        return self.outer[0]

    @property
    def heads(self) -> Dim:
        """How many pieces of work each request is."""
        return prod(self.outer[1:], start=Dim.of(1))

    @property
    def most(self) -> Dim:
        """The rows of a cache."""
        return shape_of(self.scores)[-1]


def ragged_attention(traced: TracedFunction) -> RaggedAttention | None:
    """Return the attention that ``traced`` is; None for a function in which no mask follows whole numbers.

    Raises:
        NoSchedule: a mask follows whole numbers, but the rest is another computation.
    """
    found = _masked_by(traced)
    if found is None or len(traced.outputs) != 1:
        return None
    lengths, mask, nodes = found
    if lengths.dtype != "int64":
        raise NoSchedule(f"{lengths.name} is {lengths.dtype}, and lengths are counted as int64", mask)
    return _matched(nodes[traced.outputs[0].node], lengths, nodes[lengths.name])


def drawn_within(traced: TracedFunction) -> TracedFunction:
    """Return a function whose lengths, if a mask follows any, are drawn within its caches: nothing seen gives NaN."""
    found = _masked_by(traced)
    if found is None:
        return traced
    lengths, mask, _ = found
    most = shape_of(mask)[-1].bind({**traced.dims, **traced.bound})
    drawn = replace(lengths, least=1, below=most + 1)
    return replace(traced, inputs=tuple(drawn if each is lengths else each for each in traced.inputs))


def _masked_by(traced: TracedFunction) -> tuple[TracedInput, Node, dict[str, Any]] | None:
    """Return the lengths that a mask follows, the mask, and all nodes by their names; None where there are none."""
    lengths = next((item for item in traced.inputs if item.dtype.startswith("int") and len(item.dims) == 1), None)
    if lengths is None:
        return None
    nodes: dict[str, Any] = {node.name: node for node in traced.graph.graph.nodes}
    masks = (node for node in nodes.values() if opname(node) in _COMPARED and _compared(node, nodes[lengths.name]))
    mask = next(masks, None)
    return None if mask is None else (lengths, mask, nodes)


def _matched(result: Node, lengths: TracedInput, given: Node) -> RaggedAttention:
    product = _behind(result, _VIEWS)
    if opname(product) not in PRODUCTS or product.kwargs or opname(product) == "addmm":
        raise NoSchedule("behind the product of weights and values something else is computed", product)
    weights, is_safe = _unguarded(_behind(product.args[0], _VIEWS))
    if opname(weights) != "_softmax":
        raise NoSchedule("what weighs the values is no softmax of masked scores", weights)
    masked = _behind(weights.args[0], _VIEWS)
    rank = len(shape_of(weights))
    dim: Any = weights.args[1]
    mask = _mask_of(masked) if dim % rank == rank - 1 else None
    if mask is None:
        raise NoSchedule("its softmax is not one over scores that torch.where or masked_fill masks", weights)
    is_seen, more = _seen(mask.condition, given, shape_of(masked), shape_of(mask.spread))
    scores, hidden = mask.sides if is_seen else reversed(mask.sides)
    if mask.added_to is not None:
        if _number(scores) != 0:
            raise NoSchedule("what is added to scores that are seen is not 0", masked)
        scores = mask.added_to
    value = _number(hidden)
    if value is None or value > _NOTHING:
        raise NoSchedule("what is masked is no number that softmax gives the weight 0", masked)
    outer = shape_of(masked)[:-2]
    if rank < 3 or shape_of(scores) != shape_of(masked):
        raise NoSchedule("its scores have no dimension for the queries of a request: keep one of size 1", masked)
    return RaggedAttention(product, scores, lengths, outer, more, is_safe)


class _Mask(Record):
    """What a mask makes of scores: the first of ``sides`` where ``condition`` holds, else the second.

    ``added_to``: the scores that these are added to. ``spread`` is the mask with the dimensions that scores have.
    """

    condition: Any
    sides: tuple[Any, Any]
    spread: Any
    added_to: Any = None


def _mask_of(masked: Any) -> _Mask | None:
    """Return how scores are masked: by ``where``, or by a mask of 0 and of what hides, that is added; None: not."""
    if opname(masked) == "where":
        condition, *sides = masked.args
        return _Mask(condition, (sides[0], sides[1]), condition)
    if opname(masked) != "add" or masked.kwargs:
        return None
    for scores, spread in (masked.args[:2], masked.args[1::-1]):
        if not hasattr(spread, "op") or not hasattr(scores, "op"):
            continue
        mask = _behind(spread, _VIEWS)
        if opname(mask) == "where":
            condition, *sides = mask.args
            return _Mask(condition, (sides[0], sides[1]), spread, scores)
        if opname(mask) == "mul" and isinstance(mask.args[1], int | float):
            flags, is_turned = _turned(_behind(mask.args[0], _VIEWS))
            if opname(flags) == "_to_copy":
                sides = (0.0, mask.args[1]) if is_turned else (mask.args[1], 0.0)
                return _Mask(flags.args[0], sides, spread, scores)
    return None


def _turned(node: Any) -> tuple[Any, bool]:
    """Return flags as numbers, and whether a node is 1 minus these."""
    name, given = opname(node), node.args
    if name == "rsub" and given[1] == 1 and not node.kwargs:
        return _behind(given[0], _VIEWS), True
    if name == "sub" and given[0] == 1 and not node.kwargs:
        return _behind(given[1], _VIEWS), True
    return node, False


def _behind(node: Any, kinds: frozenset[str]) -> Any:
    """Return the operation behind views (and casts), those by permute that move nothing included."""
    while opname(node) in kinds or _moves_nothing(node):
        node = node.args[0]
    return node


def _moves_nothing(node: Any) -> bool:
    """Whether a node exchanges dimensions of which only those of size 1 change their place."""
    if opname(node) != "permute":
        return False
    dims = shape_of(node.args[0])
    kept = [place % len(dims) for place in node.args[1] if dims[place] != 1]
    return kept == sorted(kept)


def _unguarded(node: Any) -> tuple[Any, bool]:
    """Return a softmax, and whether a row in which all is masked is replaced by zeros, as PyTorch's attention does."""
    if opname(node) != "where":
        return node, False
    condition, zero, weights = node.args
    asks = condition
    for name in ("logical_not", "any", "logical_not", "eq"):
        if opname(asks) != name:
            return node, False
        asks = asks.args[0] if name != "eq" else asks
    same = opname(weights) == "_softmax" and weights.args[0] is asks.args[0]
    is_guard = same and asks.args[1] == float("-inf") and opname(zero) == "full_like" and zero.args[1] == 0
    return (weights, True) if is_guard else (node, False)


def _seen(condition: Any, given: Node, shape: tuple[Dim, ...], dims: tuple[Dim, ...]) -> tuple[bool, int]:
    """Return whether a mask says what is seen (or what is hidden), and how many rows more than the length are.

    ``shape`` is that of the scores, ``dims`` that of the mask beside them.

    Raises:
        NoSchedule: it is no comparison of positions with lengths, one for each request.
    """
    turned = False
    node = _behind(condition, _VIEWS)
    while opname(node) in ("logical_not", "bitwise_not"):
        turned = not turned
        node = _behind(node.args[0], _VIEWS)
    found = _compared(node, given)
    if not found:
        raise NoSchedule("its mask is no comparison of positions with lengths", node)
    places = (Dim.of(1),) * (len(shape) - len(dims)) + dims
    if places[0] != shape[0] or places[-1] != shape[-1] or any(size != 1 for size in places[1:-1]):
        raise NoSchedule("its mask is not one length for each request", node)
    is_seen, more = _COMPARED[found]
    return is_seen != turned, more


def _compared(node: Any, lengths: Node) -> str:
    """Return how a node compares positions, on its left, with lengths; empty where it does not."""
    name = opname(node)
    if name not in _COMPARED or not all(hasattr(each, "op") for each in node.args[:2]):
        return ""
    left, right = node.args[:2]
    if _behind(left, _CASTS) is lengths:
        left, right, name = right, left, _TURNED[name]
    return name if _behind(right, _CASTS) is lengths and _is_positions(left) else ""


def _is_positions(node: Any) -> bool:
    """Whether a node holds 0, 1, 2, ... along its last dimension and no other."""
    value = node.meta.get(FIXED)
    return value is not None and value.reshape(-1).tolist() == list(range(value.shape[-1]))


def _number(node: Any) -> float | None:
    """Return the number that a tensor holds everywhere, None where that is not known."""
    if isinstance(node, int | float):
        return float(node)
    value = node.meta.get(FIXED)
    return float(value) if value is not None and value.numel() == 1 else None
