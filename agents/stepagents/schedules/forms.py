"""What all forms of loop nests are written with: the plan of one, its stores, and what its units cost."""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.parts import NoSchedule, TilePart
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer import Lanes, Loops, Writer, lane_count, tuple_text
from stepcore.records import Record
from stepcore.sizes.dim import Dim


class Scheduled(Record):
    """What a form is written for: the result as a part, the loops over its blocks (fastest first), the memory's name.

    ``folded`` is the contracted dimension that is cut (label ``k``) or computed in blocks (label ``f``), None for none.
    """

    result: TilePart
    outer: Loops
    memory: str
    folded: Dim | None = None


def finished(
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
    if not bare:
        writer.said(plan.result.node)
    streams = [products[part] if part.bare else writer.load(part, loops, lanes).text() for part in body.inputs]
    text = streams[0]
    if not bare:
        others = [part for part in body.inputs if not part.bare]
        unit = unit_of(writer, loops, lanes, body, others, plan.result)
        text = f"{writer.mapped('finish', body, plan.result, result, unit)}.apply({tuple_text(streams)})"
    store(writer, plan, text, lanes)


def store(writer: Writer, plan: Scheduled, text: str, lanes: Lanes) -> None:
    """Write the stores of all lanes: each lane's tiles lie one behind the other.

    Raises:
        NoSchedule: they do not.
    """
    writer.follows(plan.result, plan.outer)
    order = [label for label, _ in plan.outer]
    counts = [writer.rounds(label, size) for label, size in plan.outer]
    for lane in lanes:
        first = order.index(lane.label) + 1 if lane.label in order else 0
        if any(count > 1 for count in counts[first:]):
            raise NoSchedule("a store cannot follow the tiles of a lane: they do not lie one behind the other")
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


def unit_of(
    writer: Writer, loops: Loops, lanes: Lanes, body: TileBody, read: Sequence[TilePart], written: TilePart | None
) -> UnitCost:
    """Return what units cost that read ``read`` from memory in each call, and write ``written`` to it."""
    reads = tuple(writer.bytes_of(part) for part in read if not part.is_position)
    writes = writer.bytes_of(written) if written is not None else 0
    return UnitCost(lane_count(lanes), writer.rounds_of(loops), body.flops, reads, writes)
