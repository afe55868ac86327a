"""Loop nests of recurrences: a Scan over the rows of tiles, each lane with columns of its own.

Tiles of rows are loaded whole and cut to rows on chip; the states of a tile's rows become a tile again, which is stored
at its number, as tiles of a lane do not lie one behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.forms import Scheduled, unit_of
from stepagents.schedules.parts import Labels, NoSchedule, TilePart, shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import MOST_LANES, Schedule, ScheduleForm, SizedFunction
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer import POSITION, Loops, ProgramLane, Writer, lane_count, tuple_text
from stepagents.traced.graph import opname, size_text
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.types import STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

_FILLED: Final = frozenset({"full", "full_like"})
_ROW: Final[Labels] = ("c",)
_PANEL: Final[Labels] = ("t", "c")


def is_recurrence(node: Node) -> bool:
    """Whether a node takes what a loop over time has put together."""
    given: Any = node.args[0] if node.args else None
    if not hasattr(given, "op") or opname(given) != "loop_end":
        return False
    place: Any = node.args[1]
    states: Any = given.args[1]
    return bool(place >= len(states))


class _Loop(Record):
    """A loop over time: the node that reads it, ``states`` with what they become, and what it puts together."""

    node: Node
    states: tuple[tuple[Node, Node], ...]
    row: Node


class ScanForm(ScheduleForm):
    """A recurrence: a Scan over the rows of tiles, in lanes of columns."""

    name = "scan"
    alone = True

    def takes(self, function: SizedFunction) -> bool:
        """Whether it is a matrix that a loop over time puts together."""
        return len(function.dims) == 2 and any(map(is_recurrence, function.behind))

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield tiles of rows and columns, in lanes of columns."""
        rows, columns = function.sizes(function.dims)
        for across in divisors(columns, 1, MOST_LANES):
            for wide in divisors(columns // across, 16, 128):
                for tall in divisors(rows, 16, 1024):
                    yield Schedule(self.name, {"t": tall, "c": wide}, (ProgramLane("c", across),))

    def labels(self, _function: SizedFunction, _sizes: Mapping[str, Dim]) -> Labels:
        """Return the labels of a tile of rows."""
        return _PANEL

    def loops(self, function: SizedFunction, labels: Labels) -> Loops:
        """Return loops over rows in tiles, then columns."""
        return tuple(zip(labels, function.dims, strict=True))

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write a recurrence, with what is computed of its inputs before and of its rows after it.

        Raises:
            NoSchedule: see :meth:`stepagents.schedules.rows.RowsForm.write`.
        """
        body = TileBody(writer.blocks, lambda part: is_recurrence(part.node))
        result = body.of(plan.result)
        loops_of = [part for part in body.inputs if is_recurrence(part.node)]
        if len(loops_of) != 1 or loops_of[0].labels != _PANEL:
            raise NoSchedule(
                "the result is no recurrence over rows, and no other loop has a form over tiles yet", plan.result.node
            )
        lanes = writer.live("c")
        rows = _scanned(writer, _loop_of(loops_of[0].node), plan)
        size = writer.names["t"]
        text = f"step.Retile(axis=0).apply(step.Reshape(S={size}, L=[0]).apply({rows}))"
        writer.costs.kept += lane_count(lanes) * writer.bytes_of(loops_of[0])
        if body.lines or result != "input[0]" or len(body.inputs) > 1:
            writer.said(plan.result.node)
            given = [
                text if is_recurrence(part.node) else writer.load(part, plan.outer, lanes).text()
                for part in body.inputs
            ]
            others = [part for part in body.inputs if not is_recurrence(part.node)]
            unit = unit_of(writer, plan.outer, lanes, body, others, plan.result)
            text = f"{writer.mapped('finish', body, plan.result, result, unit)}.apply({tuple_text(given)})"
        _store(writer, plan, text)


def _loop_of(node: Node) -> _Loop:
    end: Any = node.args[0]
    place: Any = node.args[1]
    _, states, becoming, rows = end.args[:4]
    for state in states:
        if len(shape_of(state)) != 1:
            raise NoSchedule("a state that is no row cannot be kept by a Scan over rows", state)
    return _Loop(node, tuple(zip(states, becoming, strict=True)), rows[place - len(states)])


def _scanned(writer: Writer, loop: _Loop, plan: Scheduled) -> str:
    """Write the Scan over rows, and return what its rows come from."""
    lanes = writer.live("c")
    loops = plan.outer
    body = TileBody(writer.blocks, lambda part: opname(part.node) == "loop_item")
    for number, (state, _) in enumerate(loop.states):
        body.know(TilePart(state, _ROW), f"state[{number}]")
    components = [after for _, after in loop.states]
    if loop.row not in components:
        components.append(loop.row)
    texts = [body.of(TilePart(node, _ROW)) for node in components]
    if not body.inputs:
        raise NoSchedule("a loop that reads nothing has no form over tiles", loop.node)
    writer.said(components[0])
    streams = [_rows(writer, part, loops) for part in body.inputs]
    row = writer.tile_type(TilePart(loop.row, _ROW))
    states: Tile | STuple = row if len(components) == 1 else STuple((row,) * len(components))
    inits = [*(_init(before) for before, _ in loop.states), 0.0][: len(components)]
    steps = writer.rounds_of(loops) * writer.blocks.sizes["t"].bind(writer.blocks.bound)
    width = writer.bytes_of(TilePart(loop.row, _ROW))
    unit = UnitCost(lane_count(lanes), steps, body.flops, (width,) * len(streams))
    lines = "\n".join([*body.lines, f"return [{', '.join(texts)}]"])
    types = [writer.tile_type(TilePart(part.node, part.labels)) for part in body.inputs]
    call = writer.function("advance", types, states, lines, unit, tuple(inits)).format(", b=1")
    text = f"step.Scan({call}).apply({tuple_text(streams)})"
    if isinstance(states, STuple):
        place = components.index(loop.row)
        pick = UnitCost(lane_count(lanes), steps, 0)
        call = writer.function("row", states, row, f"return [input[{place}]]", pick).format("")
        text = f"step.Map({call}).apply({text})"
    return text


def _rows(writer: Writer, part: TilePart, loops: Loops) -> str:
    """Return the rows of what a loop reads, one for each of its rounds."""
    lanes = writer.live("c")
    if opname(part.node) != "loop_item":
        step = writer.load(part, [each for each in loops if each[0] != "t"], lanes).text()
        (size,) = (size for label, size in loops if label == "t")
        return f"step.Repeat(n={size}).apply({step})"
    arguments: Any = part.node.args
    given, dim, start, stride = arguments[:4]
    if (dim, start, stride) != (0, 0, 1):
        raise NoSchedule("a Scan cannot read rows in another order than from the first to the last", part.node)
    body = TileBody(writer.blocks)
    panel = TilePart(given, _PANEL)
    value = body.of(panel)
    is_computed = bool(body.lines) or value != "input[0]"
    if is_computed:
        writer.said(given)
    loads = [writer.load(each, loops, lanes).text() for each in body.inputs]
    text = loads[0]
    if is_computed:
        unit = unit_of(writer, loops, lanes, body, body.inputs, None)
        text = f"{writer.mapped('ahead', body, panel, value, unit)}.apply({tuple_text(loads)})"
    writer.costs.kept += lane_count(lanes) * writer.bytes_of(panel)
    return f"step.RetileStreamify(axis=0).apply({text})"


def _init(state: Node) -> float:
    given: Any = state.args[0]
    value: Any = given.args[1] if opname(given) in _FILLED else None
    if value not in (0, 1, -1):
        raise NoSchedule("a state that does not start with 0, 1 or -1 everywhere has no form over tiles yet", state)
    return float(value)


def _store(writer: Writer, plan: Scheduled, text: str) -> None:
    """Write the stores of all lanes, each tile at its number."""
    lanes = writer.live("c")
    time = _position(writer, plan, "t")
    column = _position(writer, plan, "c")
    columns = f"{size_text(shape_of(plan.result.node)[-1])} // {writer.blocks.sizes['c']}"
    rounds = writer.rounds_of(plan.outer)
    unit = UnitCost(lane_count(lanes), rounds, 0)
    body = f"return [input[0] * ({columns}) + input[1]]"
    call = writer.function("number", [POSITION, POSITION], POSITION, body, unit).format("")
    for lane in lanes:
        writer.lines.append(f"for {lane.index} in range({lane.count}):")
    margin = "    " * len(lanes)
    writer.lines += [
        f"{margin}place = step.Map({call}).apply(({time}, {column}))",
        f"{margin}step.RandomOffChipStore(tensor={plan.memory}, dispatch=@).apply((place, {text}))",
    ]
    writer.costs.stores.append(LoadCost(lane_count(lanes), rounds, writer.bursts(plan.result)))


def _position(writer: Writer, plan: Scheduled, label: str) -> str:
    return writer.counted(label, plan.outer, writer.live("c"), 1).text()
