"""What experience adds to the cost of moves; the same facts about a move are used to learn and to search.

Only layout moves learn. Whether a function was the right one is seen in its values at once, and costs learned for
functions were in the way of that: of 56 tasks with distractors, with 100 candidates each and the reference programs of
unrelated families as experience, the search solved 43 without it, 46 with learned layout moves, and 38 with learned
functions, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stepagents.search.costs import LEAST, CostModel
from stepagents.search.items import SearchStream
from stepagents.search.space import Space
from stepagents.search.traits import move_traits
from stepagents.search.unary import Move
from stepcore.ops.base import Operand, Operator, RuleError, TypingContext
from stepcore.sizes.dim import DimError
from stepcore.types import StreamType


def result_type(ops: Sequence[Operator], source: StreamType, space: Space) -> StreamType | None:
    """Return the type that operators in a row give; None where they are impossible on ``source``."""
    kind, context = source, TypingContext(dict(space.bindings))
    try:
        for op in ops:
            (kind,) = op.infer([Operand(kind)], context)
    except (RuleError, DimError):
        return None
    return kind


def taught(moves: Iterable[Move], item: SearchStream, space: Space, costs: CostModel) -> Iterator[Move]:
    """Yield moves that change the layout of ``item``, with what experience adds to their costs."""
    for cost, name, ops in moves:
        result = result_type(ops, item.type, space) if costs.learned else None
        if result is None:
            yield cost, name, ops
        else:
            traits = move_traits(item.type, item.move, result, space)
            yield max(cost + costs.extra(name, traits), LEAST), name, ops
