"""Chains of two products: what one product takes is computed from products itself, block by block (SwiGLU, attention).

It never leaves the chip; a softmax between the products runs online.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import UnitCost
from stepagents.schedules.forms import Scheduled, bracketed, finished, store, unit_of
from stepagents.schedules.parts import Labels, NoSchedule, TilePart, shape_of
from stepagents.schedules.products import contracted, depth_of, resident
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import MOST_LANES, Schedule, ScheduleForm, SizedFunction, enough, loops_over
from stepagents.schedules.tile_ops import TileBody, at_products, factors
from stepagents.schedules.writer import Family, Lanes, Loops, ProgramLane, Writer, lane_count, tuple_text
from stepagents.traced.graph import opname
from stepcore.sizes.dim import Dim
from stepcore.types import Scalar, STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

_MINUS_INFINITY: Final = float("-inf")
_LEAST: Final = -3e38  # of the largest score: with it a block that is masked whole has weights of 0
_VIEWS: Final = frozenset({"view", "expand", "clone", "alias", "detach"})


class ChainForm(ScheduleForm):
    """A product of what products give, in blocks of the dimension between them."""

    name = "chain"

    def takes(self, function: SizedFunction) -> bool:
        """Whether it has several products."""
        return len(function.products) > 1

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield tiles of rows and of the dimension between, in lanes of rows, columns, and that dimension."""
        columns = function.size(function.dims[-1])
        between = function.size(depth_of(function.products[0]))
        for lane, own in function.lanes_of_rows(function.dims):
            most = min(16, MOST_LANES // lane.count)
            for across in divisors(columns, 1, most):
                for dealt in enough(divisors(between, 1, most), lane.count * across):
                    lanes = (lane, ProgramLane("c", across), ProgramLane("f", dealt, dealt=True))
                    for tile in divisors(own, 1 if own < 16 else 16, 128):
                        for wide in divisors(between // dealt, 16, 256):
                            yield Schedule(self.name, {"r": tile, "f": wide}, lanes)

    def loops(self, function: SizedFunction, labels: Labels) -> Loops:
        """Return loops over rows: each lane has its share of the columns in one tile."""
        return [loop for loop in loops_over(function.dims, labels) if loop[0] != "c"]

    def folded(self, function: SizedFunction, _point: Schedule, labels: Labels) -> Dim | None:
        """Return the size of the dimension between the products."""
        return contracted(function, labels)

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write a product of what products give, in blocks of the dimension between them.

        Raises:
            NoSchedule: it has no such products, or see :meth:`stepagents.schedules.rows.RowsForm.write`.
        """
        body = TileBody(writer.blocks, at_products)
        result = body.of(plan.result)
        products = [part for part in body.inputs if part.bare]
        if len(products) != 1 or plan.folded is None:
            raise NoSchedule("the function has no single last product that could be computed block by block")
        left, right = factors(products[0], "f")
        soft = _softmax(left)
        hidden = left if soft is None else TilePart(soft, left.labels)
        inner = TileBody(writer.blocks, at_products)
        value = inner.of(hidden)
        firsts = [part for part in inner.inputs if part.bare]
        if not firsts:
            raise NoSchedule("the function's last product cannot be chained: there is no product before it")
        loops = (("f", plan.folded), *plan.outer)
        streams = dict(zip(firsts, resident(writer, firsts, loops, ("b", "r", "f")), strict=True))
        shared = _hidden(writer, inner, hidden, value, streams, loops)
        lanes = writer.live("b", "r", "c")
        masks = any(part.is_position for part in inner.inputs)
        stream = _contracted(writer, products[0], right, shared, loops, online=soft is not None, masks=masks)
        if soft is not None:
            if len(body.inputs) > 1 or body.lines or result != "input[0]":
                raise NoSchedule(
                    "what is computed behind attention cannot be joined to its last division", plan.result.node
                )
            state = STuple((_column(writer, hidden), _column(writer, hidden), writer.tile_type(products[0])))
            _finish_online(writer, plan, state, stream, lanes)
            return
        finished(writer, plan, body, result, {products[0]: stream}, lanes, plan.outer)


def _softmax(part: TilePart) -> Node | None:
    """Return what a part is the softmax of, along its last dimension; None where it is none."""
    node = part.node
    while opname(node) in _VIEWS and shape_of(node) == shape_of(node.all_input_nodes[0]):
        node = node.all_input_nodes[0]
    is_soft = opname(node) == "_softmax" and node.args[1] in (-1, len(part.labels) - 1)
    return node.all_input_nodes[0] if is_soft else None


def _hidden(
    writer: Writer, body: TileBody, part: TilePart, value: str, streams: dict[TilePart, str], loops: Loops
) -> Family:
    """Write the blocks between the products, those of all lanes side by side, copied for the lanes behind."""
    lanes = writer.live("b", "r", "f")
    others = [each for each in body.inputs if not each.bare]
    is_product = len(body.inputs) == 1 and value == "input[0]"
    if not is_product:
        writer.said(part.node)
    given = [streams[each] if each.bare else writer.load(each, loops, lanes).text() for each in body.inputs]
    text = given[0]
    if not is_product:
        unit = unit_of(writer, loops, lanes, body, others, None)
        text = f"{writer.mapped('between', body, part, value, unit)}.apply({tuple_text(given)})"
    own = writer.live("b", "r")
    behind = tuple(lane for lane in writer.live("c") if lane not in own)
    dealt = writer.live("f")
    if dealt:
        pieces = writer.shared(text, "pieces", (*own, *dealt), ())
        count = dealt[0].count
        tile = writer.tile_type(part)
        rows, columns = tile.shape
        wide = Tile("fp32", (rows, columns * count))
        unit = UnitCost(lane_count(own), writer.rounds_of(loops), 0)
        call = writer.function("side_by_side", [tile] * count, wide, "return [torch.cat(input, 1)]", unit)
        index = "".join(f"[{lane.index}]" for lane in own)
        text = f"step.Map({call.format('')}).apply(tuple({pieces.name}{index}))"
    return writer.shared(text, "hidden", own, behind)


def _contracted(
    writer: Writer, product: TilePart, right: TilePart, hidden: Family, loops: Loops, *, online: bool, masks: bool
) -> str:
    """Write the fold of the last product over the blocks between the products."""
    lanes = writer.live("b", "r", "c")
    dealt = writer.live("f")
    count = dealt[0].count if dealt else 1
    blocks = writer.blocks
    wide = writer.with_block("f", blocks.sizes["f"] * count)
    body = TileBody(wide.blocks)
    block = TilePart(product.node, (*product.labels[:-1], "f"))
    body.inputs.append(block)
    second = body.of(right)
    writer.said(product.node)
    streams = [hidden.text(), *(wide.load(part, loops, lanes).text() for part in body.inputs[1:])]
    rows, columns = writer.blocks.numbers(product)
    depth = wide.blocks.sizes["f"].bind(blocks.bound)
    flops = body.flops + 2 * rows * columns * depth + (rows * depth * 7 if online else 0)
    unit = replace(unit_of(wide, loops, lanes, body, body.inputs[1:], None), flops=flops)
    writer.costs.kept += unit.units * (sum(unit.reads) + 4 * rows * columns)
    tiles: list[Tile | Scalar] = [Tile("fp32", (wide.blocks.tile(product)[0], wide.blocks.sizes["f"]))]
    tiles += [wide.tile_type(part) for part in body.inputs[1:]]
    total = writer.tile_type(product)
    if not online:
        text = "\n".join([*body.lines, f"return [state[0] + input[0] @ {bracketed(second)}]"])
        call = writer.function("contract", tiles, total, text, unit, (0.0,))
    else:
        column = Tile("fp32", (total.shape[0], 1))
        top = "torch.maximum(state[0], torch.amax(input[0], 1, keepdim=True))"
        lines = [
            f"top = {f'torch.clamp({top}, min={_LEAST})' if masks else top}",
            "old = torch.exp(state[0] - top)", "weight = torch.exp(input[0] - top)",
            "total = state[1] * old + torch.sum(weight, 1, keepdim=True)", *body.lines,
            f"return [top, total, state[2] * old + weight @ {bracketed(second)}]",
        ]  # fmt: skip
        init = (_MINUS_INFINITY, 0.0, 0.0)
        call = writer.function("online", tiles, STuple((column, column, total)), "\n".join(lines), unit, init)
    return f"step.Accum({call.format(', b=1')}).apply({tuple_text(streams)})"


def _finish_online(writer: Writer, plan: Scheduled, state: STuple, stream: str, lanes: Lanes) -> None:
    """Write the division by the sum of an online softmax, and the stores."""
    numbers = writer.elements(plan.result)
    unit = UnitCost(lane_count(lanes), writer.rounds_of(plan.outer), numbers, (), 4 * numbers)
    body, tile = "return [input[2] / input[1]]", writer.tile_type(plan.result)
    call = writer.function("finish", state, tile, body, unit)
    store(writer, plan, f"step.Map({call.format('')}).apply({stream})", lanes)


def _column(writer: Writer, part: TilePart) -> Tile:
    return Tile("fp32", (writer.blocks.tile(part)[0], 1))
