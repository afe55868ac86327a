"""Loop nests whose result is one number: totals of all elements of a tensor, folded block by block in lanes.

Each lane folds its blocks, the totals of the lanes are joined, and what the function computes from them comes last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.forms import Scheduled, unit_of
from stepagents.schedules.parts import WHOLE, Labels, NoSchedule, TilePart, scalar_of, shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import TALLEST, Schedule, ScheduleForm, SizedFunction, loops_over
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer import Loops, Writer, lane_count, tuple_text
from stepagents.traced.graph import opname, size_text
from stepcore.sizes.dim import Dim, product
from stepcore.types import Tile

if TYPE_CHECKING:
    from torch.fx import Node

_KINDS: Final = {"sum": "sum", "mean": "sum", "amax": "amax", "max": "amax"}  # and how partial results are joined
_MINUS_INFINITY: Final = float("-inf")


def is_total(node: Node) -> bool:
    """Whether an operation folds all elements of a tensor."""
    if opname(node) not in _KINDS or not shape_of(operand(node)):
        return False
    dims: Any = node.args[1] if len(node.args) > 1 else ()
    rank = len(shape_of(operand(node)))
    return not dims or len({dim % rank for dim in dims}) == rank


def operand(node: Node) -> Node:
    """Return what an operation is applied to."""
    given: Any = node.args[0]
    found: Node = given
    return found


def labels_of(rank: int) -> Labels:
    """Return the labels of the blocks that a total of a tensor of ``rank`` dimensions is folded from."""
    return ("r",) if rank == 1 else (*("b",) * (rank - 2), "r", WHOLE)


class TotalsForm(ScheduleForm):
    """Folds of all elements of a tensor to one number, block by block in lanes."""

    name = "totals"
    alone = True

    def takes(self, function: SizedFunction) -> bool:
        """Whether its result is one number."""
        return not function.dims

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield tiles of rows of the tensor, in lanes."""
        for lane, own in function.lanes_of_rows(_folded(function)):
            for tile in divisors(own, 1, TALLEST):
                yield Schedule(self.name, {"r": tile}, (lane,))

    def loops(self, function: SizedFunction, _labels: Labels) -> Loops:
        """Return loops over blocks of the tensor."""
        dims = _folded(function)
        return loops_over(dims, labels_of(len(dims)))

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write folds over all blocks.

        Raises:
            NoSchedule: see :meth:`stepagents.schedules.rows.RowsForm.write`.
        """
        body = TileBody(writer.blocks, lambda part: is_total(part.node))
        result = body.of(plan.result)
        totals = body.inputs
        if not totals or not all(is_total(part.node) for part in totals):
            raise NoSchedule(
                "the result cannot be folded block by block: it is no fold of all elements of a tensor",
                plan.result.node,
            )
        loops: Loops = (*plan.outer, ("1", Dim.of(1)))
        lanes = writer.live("b", "r")
        kind = _kind(totals)
        inner = TileBody(writer.blocks)
        texts = [_partial(inner, operand(part.node), kind) for part in totals]
        writer.said(totals[0].node)
        streams = [writer.load(part, loops, lanes) for part in inner.inputs]
        tile = Tile("fp32", (1, len(totals)))
        text = texts[0] if len(texts) == 1 else f"torch.cat([{', '.join(texts)}], 1)"
        unit = unit_of(writer, loops, lanes, inner, inner.inputs, None)
        joined = "{0} + {1}" if kind == "sum" else "torch.maximum({0}, {1})"
        lines = "\n".join([*inner.lines, f"return [{joined.format('state[0]', text)}]"])
        init = 0.0 if kind == "sum" else _MINUS_INFINITY
        call = writer.function("fold", [writer.element(part) for part in inner.inputs], tile, lines, unit, (init,))
        given = tuple_text([each.text() for each in streams])
        family = writer.shared(
            f"step.Accum({call.format(f', b={len(plan.outer)}')}).apply({given})", "totals", lanes, ()
        )
        total = family.name
        if lanes:
            (lane,) = lanes
            each = UnitCost(lane.count - 1, 1, len(totals))
            text = f"return [{joined.format('input[0]', 'input[1]')}]"
            join = writer.function("join", [tile, tile], tile, text, each).format("")
            writer.lines += [
                f"total = {family.name}[0]",
                f"for {lane.index} in range(1, {lane.count}):",
                f"    total = step.Map({join}).apply((total, {family.name}[{lane.index}]))",
            ]
            total = "total"
        _last(writer, plan, body, result, totals, total)


def _folded(function: SizedFunction) -> tuple[Dim, ...]:
    """Return the sizes of the tensor of which the result is a total."""
    found = next(filter(is_total, function.behind), None)
    if found is None:
        raise NoSchedule(
            "the function cannot be folded block by block: its result is one number, and no total of a tensor",
            function.node,
        )
    return shape_of(operand(found))


def _kind(totals: list[TilePart]) -> str:
    kinds = {_KINDS[opname(part.node)] for part in totals}
    if len(kinds) > 1:
        raise NoSchedule("sums and maxima of all elements cannot be folded at once", totals[0].node)
    return kinds.pop()


def _partial(body: TileBody, node: Node, kind: str) -> str:
    part = TilePart(node, labels_of(len(shape_of(node))))
    text = body.of(part)
    body.count(part, 1)
    cast = "" if scalar_of(node) == "fp32" else ".float()"
    function = "torch.sum" if kind == "sum" else "torch.amax"
    return f"{function}({text}).reshape(1, 1){cast}"


def _last(writer: Writer, plan: Scheduled, body: TileBody, result: str, totals: list[TilePart], stream: str) -> None:
    """Write what is computed from the totals, and the store."""
    columns = [
        f"input[0][:, {number}:{number + 1}]" if len(totals) > 1 else "input[0]" for number in range(len(totals))
    ]
    for number, part in enumerate(totals):
        if opname(part.node) == "mean":
            columns[number] = f"({columns[number]} / ({size_text(product(shape_of(operand(part.node))))}))"
    text = re.sub(r"input\[(\d+)\]", lambda match: columns[int(match[1])], body.returning(result))
    if text != "return [input[0]]":
        writer.said(plan.result.node)
        tile = Tile("fp32", (1, 1))
        unit = UnitCost(1, 1, max(body.flops, 1), (), 4)
        call = writer.function("finish", [Tile("fp32", (1, len(totals)))], tile, text, unit)
        stream = f"step.Map({call.format('')}).apply({stream})"
    writer.lines.append(f"step.LinearOffChipStore(tensor={plan.memory}).apply({stream})")
    writer.costs.stores.append(LoadCost(1, 1, 1))
    writer.costs.kept += lane_count(writer.live("b", "r")) * 4 * len(totals)
