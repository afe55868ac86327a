"""A softmax over all experts in which those that a row did not choose are masked, by its operations. No torch.

What is masked has the weight 0, so an expert counts what a softmax over the chosen ones alone gives it.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.indices import VIEWS
from stepagents.schedules.parts import shape_of
from stepagents.traced.graph import FIXED, opname
from stepcore.records import Record

if TYPE_CHECKING:
    from torch.fx import Node

_NOTHING: Final = -1e9  # scores that are at most that have the weight 0 beside any other
_FULL: Final = frozenset({"full", "full_like"})
_NOT: Final = frozenset({"logical_not", "bitwise_not"})
_SET: Final = frozenset({"ne", "gt"})  # than 0: where something is chosen


class MaskedScores(Record):
    """Scores of all experts (``scores``) of which only those count where ``chosen`` is not zero.

    Where scores are scattered into what counts nothing, ``chosen`` is that scatter, and ``scores`` what it scatters.
    """

    chosen: Node
    scores: Node

    @property
    def is_scattered(self) -> bool:
        """Whether there is a score for each chosen expert, in the order in which they were chosen."""
        return opname(self.chosen) == "scatter" and self.chosen.args[-1] is self.scores


def masked_scores(node: Node, scattered: Container[Node]) -> MaskedScores | None:
    """Return what a softmax over the last dimension masks, None for any other node.

    ``scattered`` are the nodes that depend on the choice by a scatter or a comparison.
    """
    given: Any = node.args
    if opname(node) != "_softmax" or given[1] % len(shape_of(node)) != len(shape_of(node)) - 1:
        return None
    masked = _behind(given[0])
    if opname(masked) == "scatter" and masked in scattered and _counts_nothing(masked.args[0]):
        source = masked.args[3]
        return MaskedScores(masked, source) if hasattr(source, "op") else None
    if opname(masked) != "where":
        return None
    condition, *sides = masked.args
    chosen, is_chosen = _flags(condition)
    scores, hidden = sides if is_chosen else reversed(sides)
    same = hasattr(scores, "op") and shape_of(scores) == shape_of(masked) == shape_of(chosen)
    return MaskedScores(chosen, scores) if same and _counts_nothing(hidden) else None


def _flags(node: Any) -> tuple[Any, bool]:
    """Return what a condition asks to be zero, and whether it holds where that is not."""
    holds = True
    while True:
        name, given = opname(node), node.args
        if name in _NOT:
            holds, node = not holds, given[0]
        elif name in (*_SET, "eq") and given[1] == 0:
            holds, node = holds == (name in _SET), given[0]
        elif name == "_to_copy" or name in VIEWS:
            node = given[0]
        else:
            return node, holds


def _behind(node: Any) -> Any:
    while opname(node) in ("clone", "alias", "detach"):
        node = node.args[0]
    return node


def _counts_nothing(node: Any) -> bool:
    """Whether something holds a number everywhere that softmax gives the weight 0."""
    if isinstance(node, int | float):
        return node <= _NOTHING
    if opname(node) in _FULL:
        return _counts_nothing(node.args[1])
    if opname(node) == "scalar_tensor":
        return _counts_nothing(node.args[0])
    value = node.meta.get(FIXED)
    return value is not None and value.numel() > 0 and bool((value <= _NOTHING).all())
