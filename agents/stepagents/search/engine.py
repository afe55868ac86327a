"""The search loop: the cheapest move first, one pool of streams, values decide what is new and what is found."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from math import inf, log1p
from typing import Any, Final

from stepagents.search.branching import Branching
from stepagents.search.costs import CostModel
from stepagents.search.earned import Earned
from stepagents.search.goals import Goals, placed
from stepagents.search.items import Fingerprints, SearchStep, SearchStream, is_open
from stepagents.search.joins import EmbeddedStream, Joins, JoinTable, Meeting
from stepagents.search.options import Counters, Features
from stepagents.search.running import FAILURES, MoveRunner
from stepagents.search.space import MAX_RANK, Space, common_suffix, has_selector
from stepagents.search.taught import taught
from stepagents.search.tiles import are_cut, loads, tile_moves
from stepagents.search.unary import Move, layout_moves
from stepagents.search.values import Values
from stepcore.fn.decl import FnDecl
from stepcore.ops.accum import Accum
from stepcore.ops.base import Operator
from stepcore.ops.flatten import Flatten
from stepcore.ops.map import Map
from stepcore.ops.promote import Promote
from stepcore.ops.scan import Scan
from stepcore.sim.world import World
from stepcore.types import Shape, StreamType

_MAX_TARGETS: Final = 48
_PATIENCE: Final = 0.1  # nats that a move may be behind before it is put back


class Engine:
    """The search on one choice of sizes and data sets.

    ``found`` is called with one item per output as soon as all are found, and says whether the program is right;
    then the search ends. ``may_go_on`` is asked before every move. Several engines may count in the same ``counters``.
    """

    def __init__(
        self,
        space: Space,
        worlds: Sequence[World],
        costs: CostModel,
        features: Features,
        found: Callable[[list[SearchStream]], bool],
        may_go_on: Callable[[Counters], bool],
        seed: int = 0,
        counters: Counters | None = None,
        adaptive: bool = False,
    ) -> None:
        self.space = space
        self.worlds = worlds
        self.costs = costs
        self.features = features
        self.counters = Counters() if counters is None else counters
        self._started = False
        self._found = found
        self._may_go_on = may_go_on
        self._serial = count()
        self._items = count()
        self._heap: list[tuple[float, int, Callable[[float], None]]] = []
        self._known: set[Any] = set()
        self._prints = Fingerprints(seed)
        self._joins = Joins(sorted(space.by_input, key=str), costs)
        self._earned = Earned(costs, adaptive)
        self._shapes: dict[Shape, None] = {}
        self._consumed: set[int] = set()
        self._layouts: dict[tuple[StreamType, str], list[Move]] = {}
        self._tried: Counter[tuple[str, str, Shape]] = Counter()
        self._least_by_state = {False: costs.least("Map"), True: costs.least("Accum", "Scan")}
        self._least = min(self._least_by_state.values())
        self._floor = min(self._least, costs.least("Streamify", "FlattenOne", "Bufferize"))
        self._ends = {(goal.element, goal.shape) for goal in space.goals}
        self.solved = False
        self._goals = Goals(space, worlds)
        self._values = Values(space, worlds, costs, features)
        self._runner = MoveRunner(worlds, space.bindings, space.dialect)
        self._branching = Branching(
            space, costs, self._values, self._runner, self._joins, self.counters, self._push, self._keep_all
        )

    # The loop -------------------------------------------------------------------------------------------------------

    def run(self, until: int | None = None) -> bool:
        """Search until a program is accepted (True), or until nothing is left to try or allowed (False).

        With ``until``, also stop when the counters stand at so many candidates; calling again goes on.
        """
        if not self._started:
            self._start()
        while self._heap and not self.solved and self._may_go_on(self.counters):
            if until is not None and self.counters.candidates >= until:
                break
            cost, _, move = heapq.heappop(self._heap)
            move(cost)
        return self.solved

    @property
    def exhausted(self) -> bool:
        """Whether nothing is left to try."""
        return self._started and not self._heap

    def _start(self) -> None:
        self._started = True
        for position, port in enumerate(self.space.spec.inputs):
            data = [world.inputs[position] for world in self.worlds]
            self._keep(SearchStream(next(self._items), port.type, data, None, 0, 0.0, source=position))
        for load in loads(self.space):
            step = SearchStep((load,), (), "LinearOffChipLoad")
            self._push(self.costs("LinearOffChipLoad"), partial(self._read, step))
        for goal in self.space.goals:
            self._meet_at(goal.shape)

    def _read(self, step: SearchStep, at: float) -> None:
        self._carry_out(step, at, ())

    def _push(self, cost: float, move: Callable[[float], None]) -> None:
        if cost < inf:
            heapq.heappush(self._heap, (cost, next(self._serial), move))

    # Streams --------------------------------------------------------------------------------------------------------

    def _keep(self, item: SearchStream) -> None:
        """Take a stream into the pool unless its like is there; then look where it leads."""
        if self.solved:
            return
        key = self._prints.of(item.data)
        if key is None:
            return
        if _is_empty(item):
            # A branch that no data set reaches says nothing: whatever is done to it looks alike.
            item.cost += self.costs("empty")
        elif self.features.equivalence:
            if (item.type, key) in self._known:
                return
            self._known.add((item.type, key))
        self.counters.streams += 1
        self._values.rate(item)
        if item.anchored:
            self._consume(item)
            self._earned.note(item)
        outputs = self._goals.note(item)
        if outputs is not None:
            self.counters.programs += 1
            self.solved = self._found(outputs)
            if self.solved:
                return
        self._expand(item)

    def _consume(self, item: SearchStream) -> None:
        """Note which streams have led to values of the reference: what none has come of is what should be used next."""
        for arg in item.step.args if item.step is not None else ():
            if arg.index not in self._consumed:
                self._consumed.add(arg.index)
                if not arg.anchored:
                    self._consume(arg)

    # Moves ----------------------------------------------------------------------------------------------------------

    def _expand(self, item: SearchStream) -> None:
        """Put what may be done with a stream into the queue; the moves on it alone are made when their turn comes."""
        floor = self.costs("Streamify", "selectors") if has_selector(item.element) else self._floor
        self._push(item.cost + floor, lambda _at: self._unfold(item))
        self._branching.meet(item)

    def _unfold(self, item: SearchStream) -> None:
        key = (item.type, item.move)
        layouts = self._layouts.get(key)
        if layouts is None:
            moves = [*layout_moves(item, self.space, self.costs)]
            if self.space.tiles:
                moves += tile_moves(item, self.space, self.costs)
            layouts = self._layouts[key] = list(taught(moves, item, self.space, self.costs))
        for cost, name, ops in layouts:
            total = item.cost + self._earned.corrected(name, cost)
            self._push(total, partial(self._lay_out, SearchStep(ops, (item,), name), 0.0))
        self._shapes_of(item)
        self._combine(self._joins.add(item))
        self._branching.spread(item)

    def _lay_out(self, step: SearchStep, paid: float, at: float) -> None:
        """Carry a move that only changes the layout out, or put it back where such moves have led nowhere so far."""
        due = self._earned.vain(step.move)
        if due > paid + _PATIENCE:
            self._push(at + due - paid, partial(self._lay_out, step, due))
        else:
            self._earned.tried(step.move)
            self._carry_out(step, at - paid)

    def _shapes_of(self, item: SearchStream) -> None:
        """Let arguments meet at the shape of a new stream, and at shapes that it makes with others."""
        shape = item.shape
        if shape in self._shapes:
            return
        others = list(self._shapes)
        self._shapes[shape] = None
        self._meet_at(shape)
        if not self.features.joins:
            return
        for other in [*others, shape]:
            shared = common_suffix(shape, other) if other != shape else len(shape) - 1
            for kept in range(shared, -1, -1):
                left, right = shape[: len(shape) - kept], other[: len(other) - kept]
                for joint in (left + right + shape[len(shape) - kept :], right + left + shape[len(shape) - kept :]):
                    if left and right and len(joint) <= MAX_RANK and self._occurs(joint):
                        self._meet_at(joint)

    def _occurs(self, shape: Shape) -> bool:
        """Return whether a tensor of the reference has these stream sizes in some order."""
        if any(is_open(size) for size in shape):
            return False
        sizes, shapes = self.space.bound(shape), self._values.anchors.shapes
        if self.space.tiles:  # which may hold a part of each axis
            return any(are_cut(sizes, axes) for axes in shapes)
        return any(not Counter(sizes) - Counter(axes) for axes in shapes)

    def _meet_at(self, target: Shape) -> None:
        if len(self._joins) < _MAX_TARGETS and len(target) <= MAX_RANK:
            self._combine(self._joins.add_target(target))

    def _combine(self, meetings: Iterator[Meeting]) -> None:
        for meeting in meetings:
            self._push(meeting.bound + self._least, partial(self._meet, meeting))

    def _meet(self, meeting: Meeting, _at: float) -> None:
        self._advance(meeting.table, meeting.start())

    def _advance(self, table: JoinTable, combinations: Iterator[tuple[float, tuple[EmbeddedStream, ...]]]) -> None:
        """Put the next combination into the queue; the one after it follows when this one is taken."""
        following = next(combinations, None)
        if following is None:
            return
        cost, places = following

        def take(_at: float) -> None:
            self._advance(table, combinations)
            table.found.append((cost, places))
            for fn in self.space.by_input[table.components]:
                self._apply(fn, table, places, cost)
            self._branching.offer(table, places, cost)

        self._push(cost + self._extra(table, places), take)

    def _extra(self, table: JoinTable, places: tuple[EmbeddedStream, ...]) -> float:
        """Return what the cheapest move on these arguments costs beyond them, as things stand."""
        uses = {name for place in places for name in place.item.uses}
        return min(
            self._least_by_state[fn.has_state]
            + (self.costs("reuse") if fn.func_name in uses and self.features.reuse else 0.0)
            + self.costs("tried") * log1p(self._tried[fn.func_name, "Accum" if fn.has_state else "Map", table.target])
            for fn in self.space.by_input[table.components]
        )

    def _apply(self, fn: FnDecl, table: JoinTable, places: tuple[EmbeddedStream, ...], cost: float) -> None:
        """Put every way to use ``fn`` on these arguments into the queue."""
        uses = [name for place in places for name in place.item.uses]
        reuse = self.costs("reuse") * uses.count(fn.func_name) if self.features.reuse else 0.0
        for name, ops in self._ways(fn, len(table.target)):
            price = self.costs(name, places[0].item.move)
            total = cost + self._earned.corrected(name, price) + reuse
            if not self._values.has_room(fn.output, _result_shape(name, ops, table.target)):
                total += self.costs("no room")
            paid = -self.costs("end") if name == "Map" and (fn.output, table.target) in self._ends else 0.0
            kept = (*dict.fromkeys(uses), fn.func_name)
            self._push(total + paid, partial(self._try, ops, name, table, places, kept, paid))

    def _try(
        self,
        ops: tuple[Operator, ...],
        name: str,
        table: JoinTable,
        places: tuple[EmbeddedStream, ...],
        uses: tuple[str, ...],
        paid: float,
        at: float,
    ) -> None:
        """Carry a move out, or put it back where the like of it has been tried often since."""
        kind = (uses[-1], name, table.target)
        due = self.costs("tried") * log1p(self._tried[kind]) + min(paid, 0.0)
        if self.features.freshness and all(place.item.index in self._consumed for place in places):
            due += self.costs("consumed")
        if due > paid + _PATIENCE:
            self._push(at + due - paid, partial(self._try, ops, name, table, places, uses, due))
            return
        self._tried[kind] += 1
        args = tuple(placed(place, table.target, self.space) for place in places)
        self._carry_out(SearchStep(ops, args, name), at - paid, uses)

    def _ways(self, fn: FnDecl, dimensions: int) -> Iterator[tuple[str, tuple[Operator, ...]]]:
        if not fn.has_state:
            yield "Map", (Map(fn=fn),)
            return
        for folded in range(1, dimensions):
            yield "Accum", (Accum(fn=fn, b=folded),)
            yield "Scan", (Scan(fn=fn, b=folded),)
        if self.features.placeholders:
            outer = Promote(b=dimensions)
            yield "AccumAll", (outer, Accum(fn=fn, b=dimensions))
            yield "ScanAll", (outer, Scan(fn=fn, b=dimensions), Flatten(L=(dimensions,)))
            yield "AccumOne", (Promote(b=0), Accum(fn=fn, b=1))

    def _carry_out(self, step: SearchStep, cost: float, uses: tuple[str, ...] | None = None) -> None:
        """Run one move on all data sets and keep what comes out."""
        self.counters.candidates += 1
        try:
            types, columns = self._runner.apply(step)
        except FAILURES:
            return
        self._keep_all(step, types, columns, cost, step.args[0].uses if uses is None else uses)

    def _keep_all(
        self,
        step: SearchStep,
        types: Sequence[StreamType],
        columns: Sequence[list[Any]],
        cost: float,
        uses: tuple[str, ...],
    ) -> None:
        for slot, (kind, data) in enumerate(zip(types, columns, strict=True)):
            self._keep(SearchStream(next(self._items), kind, data, step, slot, cost, uses, move=step.move))


def _result_shape(name: str, ops: tuple[Operator, ...], target: Shape) -> Shape:
    """Return the shape that a use of a function gives, as far as its values go."""
    if name == "AccumAll":
        return ()
    folded = next((op.b for op in ops if isinstance(op, Accum)), 0)
    return target if name == "AccumOne" else target[folded:]


def _is_empty(item: SearchStream) -> bool:
    return all(tensor.numel() == 0 for data in item.data for tensor in data.components)
