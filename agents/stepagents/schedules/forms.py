"""The loop nests that schedules are made of, each written as a program: rows, a product, a chain of two products.

*Rows*: every block of the result is one call of an element function, in lanes. *Product*: blocks of the result are
folds over blocks of the contracted dimension, or the rows of the first factor stay on chip for all columns. *Chain*:
the first factor of a product is computed from products itself (SwiGLU, attention), block by block, and never leaves the
chip; a softmax between them runs online.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.parts import NoSchedule, TilePart, shape_of
from stepagents.schedules.tile_ops import TileBody, at_products, factors
from stepagents.schedules.writer import Family, Lanes, Loops, Writer, lane_count, tuple_text
from stepagents.traced.graph import opname
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.types import Scalar, STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

_MINUS_INFINITY: Final = float("-inf")
_LEAST: Final = -3e38  # of the largest score: with it a block that is masked whole has weights of 0
_VIEWS: Final = frozenset({"view", "expand", "clone", "alias", "detach"})


class Scheduled(Record):
    """What a form is written for: the result as a part, the loops over its blocks (fastest first), the memory's name.

    ``folded`` is the contracted dimension that is cut (label ``k``) or computed in blocks (label ``f``), None for none.
    """

    result: TilePart
    outer: Loops
    memory: str
    folded: Dim | None = None


def write_rows(writer: Writer, plan: Scheduled) -> None:
    """Write the result as Maps over its blocks.

    Raises:
        NoSchedule: the operations do not allow for the blocks, or do not fit them.
    """
    body = TileBody(writer.blocks)
    result = body.of(plan.result)
    lanes = writer.live("b", "r", "c")
    streams = [writer.load(part, plan.outer, lanes) for part in body.inputs]
    unit = unit_of(writer, plan.outer, lanes, body, body.inputs, plan.result)
    writer.said(plan.result.node)
    call = writer.mapped("rows", body, plan.result, result, unit)
    store(writer, plan, f"{call}.apply({tuple_text([each.text() for each in streams])})", lanes)


def write_product(writer: Writer, plan: Scheduled) -> None:
    """Write products with what is computed before and after them; the first factor's rows stay unless ``k`` is cut.

    Raises:
        NoSchedule: see :func:`write_rows`.
    """
    body = TileBody(writer.blocks, at_products)
    result = body.of(plan.result)
    products = [part for part in body.inputs if part.bare]
    if not products:
        raise NoSchedule("it has no product of matrices")
    lanes = writer.live("b", "r", "c")
    if plan.folded is not None:
        streams = _streamed(writer, plan, products)
    else:
        streams = _resident(writer, products, plan.outer, ("b", "r", "c"), goes_out=body.inputs == [plan.result])
    _finished(writer, plan, body, result, dict(zip(products, streams, strict=True)), lanes, plan.outer)


def write_chain(writer: Writer, plan: Scheduled) -> None:
    """Write a product of what products give, in blocks of the dimension between them.

    Raises:
        NoSchedule: see :func:`write_rows`.
    """
    body = TileBody(writer.blocks, at_products)
    result = body.of(plan.result)
    products = [part for part in body.inputs if part.bare]
    if len(products) != 1 or plan.folded is None:
        raise NoSchedule("it has no single last product")
    left, right = factors(products[0], "f")
    soft = _softmax(left)
    hidden = left if soft is None else TilePart(soft, left.labels)
    inner = TileBody(writer.blocks, at_products)
    value = inner.of(hidden)
    firsts = [part for part in inner.inputs if part.bare]
    if not firsts:
        raise NoSchedule("its last product has no product before it")
    loops = (("f", plan.folded), *plan.outer)
    streams = dict(zip(firsts, _resident(writer, firsts, loops, ("b", "r", "f")), strict=True))
    shared = _hidden(writer, inner, hidden, value, streams, loops)
    lanes = writer.live("b", "r", "c")
    masks = any(part.is_position for part in inner.inputs)
    stream = _contracted(writer, products[0], right, shared, loops, online=soft is not None, masks=masks)
    if soft is not None:
        if len(body.inputs) > 1 or body.lines or result != "input[0]":
            raise NoSchedule("something is computed behind attention", plan.result.node)
        state = STuple((_column(writer, hidden), _column(writer, hidden), writer.tile_type(products[0])))
        _finish_online(writer, plan, state, stream, lanes)
        return
    _finished(writer, plan, body, result, {products[0]: stream}, lanes, plan.outer)


# -- products ----------------------------------------------------------------------------------------


def _streamed(writer: Writer, plan: Scheduled, products: Sequence[TilePart]) -> list[str]:
    """Write folds over blocks of both factors, from memory."""
    assert plan.folded is not None
    loops = (("k", plan.folded), *plan.outer)
    lanes = writer.live("b", "r", "c")
    factors_of = {product: factors(product, "k") for product in products}
    known: dict[TilePart, tuple[Family, list[int]]] = {}
    wanted: dict[TilePart, int] = {}
    bodies: dict[TilePart, tuple[TileBody, str]] = {}
    for product in products:
        body = TileBody(writer.blocks)
        left, right = (body.of(part) for part in factors_of[product])
        bodies[product] = body, f"return [state[0] + {bracketed(left)} @ {bracketed(right)}]"
        for part in body.inputs:
            wanted[part] = wanted.get(part, 0) + 1
    for part, uses in wanted.items():
        known[part] = writer.load(part, loops, lanes, uses), [0]
    result: list[str] = []
    for product in products:
        body, text = bodies[product]
        depth = writer.blocks.sizes["k"].bind(writer.blocks.bound)
        flops = body.flops + 2 * depth * writer.elements(product)
        unit = replace(unit_of(writer, loops, lanes, body, body.inputs, None), flops=flops)
        writer.costs.kept += unit.units * (unit.reads[-1] + 4 * writer.elements(product))
        types = [writer.element(part) for part in body.inputs]
        lines = "\n".join([*body.lines, text])
        call = writer.function("product", types, writer.tile_type(product), lines, unit, (0.0,))
        writer.said(product.node)
        streams = [_next(*known[part]) for part in body.inputs]
        result.append(f"step.Accum({call.format(', b=1')}).apply({tuple_text(streams)})")
    return result


def _next(family: Family, used: list[int]) -> str:
    used[0] += 1
    return family.text(used[0] - 1)


def _resident(
    writer: Writer, products: Sequence[TilePart], loops: Loops, labels: Sequence[str], *, goes_out: bool = False
) -> list[str]:
    """Write products whose first factor stays for all blocks of columns; ``loops[0]`` runs over these."""
    lanes = writer.live(*labels)
    lefts: dict[TilePart, list[TilePart]] = {}
    for product in products:
        lefts.setdefault(factors(product)[0], []).append(product)
    kept = {left: (_kept_rows(writer, left, loops, lanes, len(readers)), [0]) for left, readers in lefts.items()}
    result: list[str] = []
    for product in products:
        left, right = factors(product)
        body = TileBody(writer.blocks)
        body.reading(left)
        second = body.of(right)
        if body.inputs.count(left) > 1:
            raise NoSchedule("a factor of it depends on both factors", product.node)
        streams = [_next(*kept[left])]
        streams += [writer.load(part, loops, lanes).text() for part in body.inputs[1:]]
        body.flops += 2 * writer.blocks.numbers(left)[1] * writer.elements(product)
        unit = unit_of(writer, loops, lanes, body, body.inputs[1:], product if goes_out else None)
        writer.costs.kept += unit.units * sum(unit.reads)
        writer.said(product.node)
        types = [writer.element(part) for part in body.inputs]
        text = "\n".join([*body.lines, f"return [input[0] @ {bracketed(second)}]"])
        call = writer.function("product", types, writer.tile_type(product), text, unit).format("")
        result.append(f"step.Map({call}).apply({tuple_text(streams)})")
    return result


def _kept_rows(writer: Writer, left: TilePart, loops: Loops, lanes: Lanes, uses: int) -> Family:
    """Write the first factor of products: a tile of whole rows, repeated for each block of columns."""
    body = TileBody(writer.blocks)
    value = body.of(left)
    own = tuple(lane for lane in lanes if lane.label in left.labels)
    readers = tuple(lane for lane in lanes if lane not in own)
    outer = loops[1:]
    streams = [writer.load(part, outer, own) for part in body.inputs]
    text = tuple_text([each.text() for each in streams])
    name = left.node.name
    if not (len(body.inputs) == 1 and value == "input[0]"):
        writer.said(left.node)
        unit = unit_of(writer, outer, own, body, body.inputs, None)
        text = f"{writer.mapped(name, body, left, value, unit)}.apply({text})"
    count = writer.loop(loops[0][0], loops[0][1])
    rows, columns = writer.blocks.numbers(left)
    writer.costs.kept += 4 * rows * columns * lane_count(own)
    return writer.shared(f"step.Repeat(n={count}).apply({text})", f"{name}_rows", own, readers, uses)


# -- chains ------------------------------------------------------------------------------------------


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
    given = [streams[each] if each.bare else writer.load(each, loops, lanes).text() for each in body.inputs]
    text = given[0]
    if not (len(given) == 1 and value == "input[0]"):
        unit = unit_of(writer, loops, lanes, body, others, None)
        writer.said(part.node)
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
        joined = ", ".join(f"input[{number}]" for number in range(count))
        unit = UnitCost(lane_count(own), writer.rounds_of(loops), 0)
        call = writer.function("side_by_side", [tile] * count, wide, f"return [torch.cat([{joined}], 1)]", unit)
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
    streams = [hidden.text(), *(wide.load(part, loops, lanes).text() for part in body.inputs[1:])]
    rows, columns = writer.blocks.numbers(product)
    depth = wide.blocks.sizes["f"].bind(blocks.bound)
    flops = body.flops + 2 * rows * columns * depth + (rows * depth * 7 if online else 0)
    unit = replace(unit_of(wide, loops, lanes, body, body.inputs[1:], None), flops=flops)
    writer.costs.kept += unit.units * (sum(unit.reads) + 4 * rows * columns)
    tiles: list[Tile | Scalar] = [Tile("fp32", (wide.blocks.tile(product)[0], wide.blocks.sizes["f"]))]
    tiles += [wide.tile_type(part) for part in body.inputs[1:]]
    total = writer.tile_type(product)
    writer.said(product.node)
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


# -- results -----------------------------------------------------------------------------------------


def _finished(
    writer: Writer,
    plan: Scheduled,
    body: TileBody,
    result: str,
    products: dict[TilePart, str],
    lanes: Lanes,
    loops: Loops,
) -> None:
    """Write what is computed behind the last products, and the stores."""
    bare = len(body.inputs) == 1 and not body.lines and result == "input[0]"
    streams = [products[part] if part.bare else writer.load(part, loops, lanes).text() for part in body.inputs]
    text = streams[0]
    if not bare:
        others = [part for part in body.inputs if not part.bare]
        unit = unit_of(writer, loops, lanes, body, others, plan.result)
        writer.said(plan.result.node)
        text = f"{writer.mapped('finish', body, plan.result, result, unit)}.apply({tuple_text(streams)})"
    store(writer, plan, text, lanes)


def _finish_online(writer: Writer, plan: Scheduled, state: STuple, stream: str, lanes: Lanes) -> None:
    """Write the division by the sum of an online softmax, and the stores."""
    numbers = writer.elements(plan.result)
    unit = UnitCost(lane_count(lanes), writer.rounds_of(plan.outer), numbers, (), 4 * numbers)
    body, tile = "return [input[2] / input[1]]", writer.tile_type(plan.result)
    call = writer.function("finish", state, tile, body, unit)
    store(writer, plan, f"step.Map({call.format('')}).apply({stream})", lanes)


def store(writer: Writer, plan: Scheduled, text: str, lanes: Lanes) -> None:
    """Write the stores of all lanes: each lane's tiles lie one behind the other.

    Raises:
        NoSchedule: they do not.
    """
    order = [label for label, _ in plan.outer]
    counts = [writer.rounds(label, size) for label, size in plan.outer]
    for lane in lanes:
        first = order.index(lane.label) + 1 if lane.label in order else 0
        if any(count > 1 for count in counts[first:]):
            raise NoSchedule("the tiles of a lane do not lie one behind the other")
    base = writer.base(plan.result, lanes, order)
    base = f", base={base}" if base else ""
    for depth, lane in enumerate(lanes):
        writer.lines.append(f"{'    ' * depth}for {lane.index} in range({lane.count}):")
    margin = "    " * len(lanes)
    writer.lines.append(f"{margin}tile = {text}")
    writer.lines.append(f"{margin}step.LinearOffChipStore(tensor={plan.memory}{base}, dispatch=@).apply(tile)")
    calls = writer.rounds_of(plan.outer)
    writer.costs.stores.append(LoadCost(lane_count(lanes), calls, writer.bursts(plan.result)))


def bracketed(text: str) -> str:
    """Return an expression as a factor of another one."""
    return text if " " not in text else f"({text})"


def _column(writer: Writer, part: TilePart) -> Tile:
    return Tile("fp32", (writer.blocks.tile(part)[0], 1))


def unit_of(
    writer: Writer, loops: Loops, lanes: Lanes, body: TileBody, read: Sequence[TilePart], written: TilePart | None
) -> UnitCost:
    """Return what units cost that read ``read`` from memory in each call, and write ``written`` to it."""
    reads = tuple(writer.bytes_of(part) for part in read if not part.is_position)
    writes = 4 * writer.elements(written) if written is not None else 0
    return UnitCost(lane_count(lanes), writer.rounds_of(loops), body.flops, reads, writes)
