"""What experience adds to the cost of single moves; the same facts about a move are used to learn and to search."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from stepagents.search.costs import LEAST, CostModel
from stepagents.search.items import Item
from stepagents.search.space import Space
from stepagents.search.traits import move_traits
from stepcore.dim import DimError
from stepcore.fn.decl import FnDecl
from stepcore.ops.base import Operand, Operator, RuleError, TypingContext
from stepcore.types import Shape, StreamType

LayoutMove = tuple[float, str, tuple[Operator, ...]]


def result_type(ops: Sequence[Operator], source: StreamType, space: Space) -> StreamType | None:
    """Return the type that operators in a row give; None where they are impossible on ``source``."""
    kind, context = source, TypingContext(dict(space.bindings))
    try:
        for op in ops:
            (kind,) = op.infer([Operand(kind)], context)
    except (RuleError, DimError):
        return None
    return kind


class Taught:
    """Costs of moves in one task, with what experience adds."""

    def __init__(self, space: Space, costs: CostModel) -> None:
        self._space = space
        self._costs = costs
        self._known: dict[tuple[StreamType, str, str, str, Shape, int], float] = {}

    def layouts(self, item: Item, moves: Iterable[LayoutMove]) -> Iterator[LayoutMove]:
        """Yield the moves on a stream alone with their learned costs."""
        for cost, name, ops in moves:
            result = result_type(ops, item.type, self._space) if self._costs.learned else None
            if result is None:
                yield cost, name, ops
            else:
                traits = move_traits(item.type, item.move, result, self._space)
                yield max(cost + self._costs.extra(name, traits), LEAST), name, ops

    def application(self, item: Item, fn: FnDecl, target: Shape, name: str, ops: tuple[Operator, ...]) -> float:
        """Return the cost of applying ``fn`` at the shape ``target`` with ``item`` as its first argument."""
        cost = self._costs(name, item.move)
        if not self._costs.learned:
            return cost
        folded = next((op.b for op in reversed(ops) if hasattr(op, "b")), 0)
        key = (item.type, item.move, fn.func_name, name, target, folded)
        if key not in self._known:
            result = result_type(ops, StreamType(fn.input, target), self._space)
            traits = () if result is None else move_traits(item.type, item.move, result, self._space, fn)
            self._known[key] = max(cost + self._costs.extra(name, traits), LEAST)
        return self._known[key]
