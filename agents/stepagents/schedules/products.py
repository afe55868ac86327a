"""Products of matrices: folds over blocks of the contracted dimension, or products of rows that stay on chip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.forms import Scheduled, bracketed, finished, unit_of
from stepagents.schedules.parts import Blocks, Labels, NoSchedule, TilePart, shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import DEPTHS, MOST_LANES, Schedule, ScheduleForm, SizedFunction, enough
from stepagents.schedules.tile_ops import TileBody, at_products, factors
from stepagents.schedules.writer import Family, Lanes, Loops, ProgramLane, Writer, lane_count, tuple_text
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from torch.fx import Node

_LARGEST: Final = 1 << 20  # elements of a tile


def depth_of(node: Node) -> Dim:
    """Return the size that a product of matrices contracts."""
    given: Any = node.args[-2]
    return shape_of(given)[-1]


def contracted(function: SizedFunction, labels: Labels) -> Dim:
    """Return the size that the last product on the way to the result contracts.

    Raises:
        NoSchedule: there is no product.
    """
    body = TileBody(Blocks({}, function.bound), at_products)
    body.of(function.part(labels))
    product = next((part for part in body.inputs if part.bare), None)
    if product is None:
        raise NoSchedule("the function has no product of matrices that blocks could be cut from", function.node)
    return shape_of(factors(product)[0].node)[-1]


class ProductForm(ScheduleForm):
    """Products with what is computed before and after them; the first factor's rows stay unless ``k`` is cut."""

    name = "product"

    def takes(self, function: SizedFunction) -> bool:
        """Whether it has a product."""
        return bool(function.products)

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield tiles of rows and columns in lanes of both."""
        columns = function.size(function.dims[-1])
        depth = function.size(depth_of(function.products[0]))
        for lane, own in function.lanes_of_rows(function.dims):
            for across in enough(divisors(columns, 1, MOST_LANES // lane.count), lane.count):
                lanes = (lane, ProgramLane("c", across))
                for tile in divisors(own, 1 if own < 16 else 16, 512):
                    for wide in divisors(columns // across, 16, 512):
                        yield from self._tiles(lanes, {"r": tile, "c": wide}, depth)

    def _tiles(self, lanes: Lanes, tiles: dict[str, int], depth: int) -> Iterator[Schedule]:
        if tiles["r"] * tiles["c"] > _LARGEST // 4:
            return
        if max(tiles["r"], tiles["c"]) * depth <= _LARGEST:
            yield Schedule(self.name, tiles, lanes)
        for deep in DEPTHS:
            if deep < depth and depth % deep == 0:
                yield Schedule(self.name, {**tiles, "k": deep}, lanes)

    def folded(self, function: SizedFunction, point: Schedule, labels: Labels) -> Dim | None:
        """Return the contracted size, where a tile has a piece of it."""
        return contracted(function, labels) if "k" in point.blocks else None

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write products with what is computed before and after them; the first factor's rows stay unless ``k`` is cut.

        Raises:
            NoSchedule: it has no product, or see :meth:`stepagents.schedules.rows.RowsForm.write`.
        """
        body = TileBody(writer.blocks, at_products)
        result = body.of(plan.result)
        products = [part for part in body.inputs if part.bare]
        if not products:
            raise NoSchedule("the function has no product of matrices that blocks could be cut from")
        lanes = writer.live("b", "r", "c")
        if plan.folded is not None:
            streams = _streamed(writer, plan, products)
        else:
            streams = resident(writer, products, plan.outer, ("b", "r", "c"), goes_out=body.inputs == [plan.result])
        finished(writer, plan, body, result, dict(zip(products, streams, strict=True)), lanes, plan.outer)


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
    for product in products:
        writer.said(product.node)
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
        streams = [_next(*known[part]) for part in body.inputs]
        result.append(f"step.Accum({call.format(', b=1')}).apply({tuple_text(streams)})")
    return result


def _next(family: Family, used: list[int]) -> str:
    used[0] += 1
    return family.text(used[0] - 1)


def resident(
    writer: Writer, products: Sequence[TilePart], loops: Loops, labels: Sequence[str], *, goes_out: bool = False
) -> list[str]:
    """Write products whose first factor stays for all blocks of columns; ``loops[0]`` runs over these.

    Raises:
        NoSchedule: a factor depends on both, or see :meth:`stepagents.schedules.rows.RowsForm.write`.
    """
    lanes = writer.live(*labels)
    lefts: dict[TilePart, list[TilePart]] = {}
    for product in products:
        lefts.setdefault(factors(product)[0], []).append(product)
    kept = {left: (_kept_rows(writer, left, loops, lanes, readers), [0]) for left, readers in lefts.items()}
    result: list[str] = []
    for product in products:
        left, right = factors(product)
        body = TileBody(writer.blocks)
        body.reading(left)
        second = body.of(right)
        if body.inputs.count(left) > 1:
            raise NoSchedule("a factor of this product cannot stay on chip: it is computed from both", product.node)
        writer.said(product.node)
        streams = [_next(*kept[left])]
        streams += [writer.load(part, loops, lanes).text() for part in body.inputs[1:]]
        body.flops += 2 * writer.blocks.numbers(left)[1] * writer.elements(product)
        unit = unit_of(writer, loops, lanes, body, body.inputs[1:], product if goes_out else None)
        writer.costs.kept += unit.units * sum(unit.reads)
        types = [writer.element(part) for part in body.inputs]
        text = "\n".join([*body.lines, f"return [input[0] @ {bracketed(second)}]"])
        call = writer.function("product", types, writer.tile_type(product), text, unit).format("")
        result.append(f"step.Map({call}).apply({tuple_text(streams)})")
    return result


def _kept_rows(writer: Writer, left: TilePart, loops: Loops, lanes: Lanes, products: Sequence[TilePart]) -> Family:
    """Write the first factor of products: a tile of whole rows, repeated for each block of columns."""
    body = TileBody(writer.blocks)
    value = body.of(left)
    own = tuple(lane for lane in lanes if lane.label in left.labels)
    readers = tuple(lane for lane in lanes if lane not in own)
    outer = loops[1:]
    is_read = len(body.inputs) == 1 and value == "input[0]"
    writer.said(products[0].node if is_read else left.node)
    streams = [writer.load(part, outer, own) for part in body.inputs]
    text = tuple_text([each.text() for each in streams])
    name = left.node.name
    if not is_read:
        unit = unit_of(writer, outer, own, body, body.inputs, None)
        text = f"{writer.mapped(name, body, left, value, unit)}.apply({text})"
    count = writer.loop(loops[0][0], loops[0][1])
    rows, columns = writer.blocks.numbers(left)
    writer.costs.kept += 4 * rows * columns * lane_count(own)
    return writer.shared(f"step.Repeat(n={count}).apply({text})", f"{name}_rows", own, readers, len(products))
