"""Programs for rows that no tile divides: each lane gathers its own rows to one tile on chip, the last lane fewer.

A tensor in memory is read row by row (a row divides it in any case), rows become a tile by Retile, products and what is
computed between them keep all columns, and the result leaves row by row. The second factor of a product is read once
for all lanes: whole, or row by row, joined on chip to tiles of ``TK`` rows, the last filled with zeros, as the columns
of the first factor are, for a fold. The functions are written for any number of rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.costs import MOST_BURSTS, LoadCost, UnitCost
from stepagents.schedules.forms import Scheduled, bracketed
from stepagents.schedules.parts import Blocks, NoSchedule, TilePart
from stepagents.schedules.space import DEPTHS, LEAST_LANES, Schedule, ScheduleForm, SizedFunction, rows_of
from stepagents.schedules.tile_ops import TileBody, at_products, factors
from stepagents.schedules.writer import Lanes, ProgramLane, Writer, tuple_text
from stepcore.sizes.dim import Dim
from stepcore.types import Tile

ROWS: Final = "_R"  # the size of a function's tiles that is any number of rows


@dataclass(slots=True)
class _Unit:
    """What computes a part in a lane from what it reads; with ``is_outer`` a fold takes the second factor in tiles."""

    part: TilePart
    body: TileBody
    result: str
    is_outer: bool = False
    reads: list[TilePart] = field(default_factory=list)

    @property
    def is_read(self) -> bool:
        """Whether it is what it reads, and nothing is computed."""
        return self.result == "input[0]" and len(self.reads) == 1


class GatheredForm(ScheduleForm):
    """Rows in lanes of the same number of rows, the last of which may have fewer."""

    name = "gathered"
    cuts: ClassVar[bool] = False  # second factors of folds from a tile of the whole tensor

    def takes(self, function: SizedFunction) -> bool:
        """Whether it has a product of matrices whose rows tiles and lanes hardly divide."""
        dims = function.dims
        return len(dims) == 2 and bool(function.products) and function.size(function.tallest) % LEAST_LANES != 0

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield lanes of so many rows, products whole or in tiles of the contracted dimension."""
        for tall, lanes in self._lanes(function):
            yield Schedule(self.name, {"r": tall}, lanes)
            yield from self._folds(tall, lanes)

    def _lanes(self, function: SizedFunction) -> Iterator[tuple[int, Lanes]]:
        """Yield the rows of each lane, but for the last, and the lanes."""
        rows = function.size(rows_of(function.dims))
        for wanted in (4, 8, 16, 32, 64):
            tall = -(-rows // wanted)
            yield tall, (ProgramLane("r", -(-rows // tall)),)

    def _folds(self, tall: int, lanes: Lanes) -> Iterator[Schedule]:
        for deep in DEPTHS:
            yield Schedule(self.name, {"r": tall, "k": deep}, lanes)

    def blocks(self, sizes: Mapping[str, Dim], function: SizedFunction, point: Schedule) -> Blocks:
        """Return blocks of any number of rows: those of the point, or fewer."""
        return Blocks({**sizes, "r": Dim.symbol(ROWS)}, {**function.bound, ROWS: point.blocks["r"]})

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write rows in lanes of the same number of rows, the last of which may have fewer.

        Raises:
            NoSchedule: it has no product, is no matrix, or its operations do not keep rows apart.
        """
        if not plan.result.is_of_rows:
            raise NoSchedule("rows cannot be gathered for a result that is no matrix")
        _Gathered(writer, plan, is_cut=self.cuts).write()


class CutForm(GatheredForm):
    """The same with folds whose second factor lies on chip as a whole, where its rows are cut from it."""

    name = "cut"
    cuts = True

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield lanes of so many rows, products in tiles of the contracted dimension."""
        for tall, lanes in self._lanes(function):
            yield from self._folds(tall, lanes)


class _Gathered:
    """The program of a point; with ``is_cut`` second factors are loaded whole, and their rows cut on chip."""

    def __init__(self, writer: Writer, plan: Scheduled, *, is_cut: bool) -> None:
        self._writer = writer
        self._plan = plan
        self._is_cut = is_cut
        self._units: dict[TilePart, _Unit] = {}  # in the order of the data
        self._deep = int(writer.blocks.sizes["k"].constant or 0) if "k" in writer.blocks.sizes else 0
        self._uses: dict[TilePart, int] = {}
        self._used: dict[TilePart, int] = {}
        self._names: dict[TilePart, str] = {}
        self._lanes = writer.lanes["r"].count
        self._index = writer.lanes["r"].index
        ((_, size),) = plan.outer
        self._size = size
        self._rows = size.bind(writer.blocks.bound)
        self._tall = writer.blocks.bound[ROWS]

    def write(self) -> None:
        """Write all of it."""
        self._plan_of(self._plan.result)
        if not any(unit.part.bare for unit in self._units.values()):
            raise NoSchedule("the function has no product of matrices that blocks could be cut from")
        writer = self._writer
        writer.hold(self._size, self._rows)
        writer.said(next(unit.part.node for unit in self._units.values() if not unit.is_read))
        parts = [part for unit in self._units.values() for part in unit.reads]
        for part in dict.fromkeys(part for part in parts if part.node.op == "placeholder"):
            if "r" not in part.labels:
                self._shared(part)
        writer.lines += [
            f"for {self._index} in range({self._lanes}):",
            f"    rows = min(TM, {self._rows} - {self._index} * TM)",
        ]
        for part in dict.fromkeys(part for part in parts if part.node.op == "placeholder"):
            if "r" in part.labels:
                self._gather(part)
        for unit in self._units.values():
            self._compute(unit)
        memory, out = self._plan.memory, self._name(self._plan.result)
        writer.lines.append(f"    step.LinearOffChipStore(tensor={memory}, base={self._index} * TM, dispatch=@).apply(")
        writer.lines.append(f"        step.RetileStreamify(axis=0).apply({out})")
        writer.lines.append("    )")
        bursts = writer.bursts(self._plan.result) // self._tall
        writer.costs.stores.append(LoadCost(self._lanes, self._tall, bursts))

    # -- what is computed ----------------------------------------------------------------------------

    def _plan_of(self, part: TilePart) -> None:
        """Plan the units behind a part that is computed, and count the readers of each part."""
        self._uses[part] = self._uses.get(part, 0) + 1
        if part in self._units or part.node.op == "placeholder":
            return
        unit = self._product(part) if part.bare else self._between(part)
        for other in unit.reads:
            if other.is_position:
                raise NoSchedule("rows that lanes gather cannot be counted", other.node)
            self._plan_of(other)
        self._units[part] = unit

    def _between(self, part: TilePart) -> _Unit:
        body = TileBody(self._writer.blocks, at_products)
        result = body.of(part)
        return _Unit(part, body, result, reads=list(body.inputs))

    def _product(self, part: TilePart) -> _Unit:
        left, right = factors(part)
        body = TileBody(self._writer.blocks)
        body.reading(left)
        is_outer = self._deep > 0 and right.node.op == "placeholder"
        second = body.of(right)
        if body.inputs.count(left) > 1:
            raise NoSchedule("a factor of this product cannot stay on chip: it is computed from both", part.node)
        depth = self._writer.blocks.numbers(left)[1]
        body.flops += 2 * (self._deep if is_outer else depth) * self._writer.elements(part)
        first = f"state[0] + {body.of(left)}" if is_outer else body.of(left)
        return _Unit(part, body, f"{first} @ {bracketed(second)}", is_outer, list(body.inputs))

    # -- lines ---------------------------------------------------------------------------------------

    def _is_by_rows(self, part: TilePart) -> bool:
        """Whether a tensor of all lanes is read row by row: every reader takes it so."""
        readers = [unit for unit in self._units.values() if part in unit.reads]
        outer = [unit for unit in readers if unit.is_outer and unit.reads[1] == part]
        if outer and len(outer) < len(readers):
            raise NoSchedule("this tensor cannot be read row by row and whole at once", part.node)
        return bool(outer)

    def _shared(self, part: TilePart) -> None:
        """Write the load of a tensor that all lanes read."""
        writer, name = self._writer, part.node.name
        rows, columns = writer.blocks.tile(part)
        bursts, (high, wide) = writer.bursts(part), writer.blocks.numbers(part)
        is_by_rows = self._is_by_rows(part)
        if is_by_rows and not self._is_cut:
            given = f"tile=[1, {columns}], shape=[{rows}, 1], stride=[1, 0]"
            writer.costs.loads.append(LoadCost(1, high, bursts // high, MOST_BURSTS))
        else:
            given = f"tile=[{rows}, {columns}], shape=[1], stride=[0]"
            writer.costs.loads.append(LoadCost(1, 1, bursts, MOST_BURSTS))
        text = f"step.LinearOffChipLoad(tensor={name}, {given}, dispatch={MOST_BURSTS}).apply()"
        if is_by_rows:
            if self._is_cut:
                text = f"step.RetileStreamify(axis=0).apply(step.Promote(b=0).apply({text}))"
            text = self._in_blocks(text, 0)
            writer.costs.kept += 4 * self._deep * wide
        copies = self._uses[part] * self._lanes
        if copies > 1:
            text = f"step.Copy(n={copies}).apply({text})"
        self._names[part] = fresh_name(f"{name}_tiles", writer.taken)
        writer.lines.append(f"{self._names[part]} = {text}")

    def _in_blocks(self, text: str, axis: int) -> str:
        """Write tiles of ``TK`` rows or columns out of a stream of single ones; the last tile is filled with 0."""
        name = fresh_name("cut", self._writer.taken)
        margin = "    " if axis else ""
        self._writer.lines.append(f"{margin}{name}, _ = step.Reshape(S=TK, L=[0], pad=0).apply({text})")
        return f"step.Retile(axis={axis}).apply({name})"

    def _gather(self, part: TilePart) -> None:
        """Write the load of a lane's own rows, which become one tile."""
        writer = self._writer
        if not part.is_of_rows:
            raise NoSchedule("a lane cannot gather rows that do not lie one behind the other", part.node)
        writer.follows(part, self._plan.outer)
        columns = writer.blocks.tile(part)[1]
        where = f"tile=[1, {columns}], shape=[rows, 1], stride=[1, 0], base={self._index} * TM, dispatch=@"
        load = f"tensor={part.node.name}, {where}"
        text = f"step.Retile(axis=0).apply(step.LinearOffChipLoad({load}).apply())"
        writer.costs.loads.append(LoadCost(self._lanes, self._tall, writer.bursts(part) // self._tall))
        writer.costs.kept += self._lanes * writer.bytes_of(part)
        self._named(part, f"{part.node.name}_rows", text)

    def _named(self, part: TilePart, name: str, text: str) -> None:
        copies = self._uses[part]
        if copies > 1:
            text = f"step.Copy(n={copies}).apply({text})"
        self._names[part] = fresh_name(name, self._writer.taken)
        self._writer.lines.append(f"    {self._names[part]} = {text}")

    def _name(self, part: TilePart) -> str:
        """Return a stream of a part that nothing has read yet."""
        used = self._used.get(part, 0)
        self._used[part] = used + 1
        name, uses = self._names[part], self._uses[part]
        if "r" in part.labels:
            return name if uses == 1 else f"{name}[{used}]"
        if self._lanes * uses == 1:
            return name
        return f"{name}[{self._index}]" if uses == 1 else f"{name}[{uses} * {self._index} + {used}]"

    def _compute(self, unit: _Unit) -> None:
        writer, part = self._writer, unit.part
        streams = [self._name(each) for each in unit.reads]
        if unit.is_read:
            if self._uses[part] == 1:
                self._names[part] = streams[0]
            else:
                self._named(part, part.node.name, streams[0])
            return
        types = [writer.tile_type(each) for each in unit.body.inputs]
        depth = 1
        if unit.is_outer:
            depth = -(-writer.blocks.numbers(unit.reads[0])[1] // self._deep)
            deep = Dim.of(self._deep)
            types = [Tile("fp32", (types[0].shape[0], deep)), Tile("fp32", (deep, types[1].shape[1])), *types[2:]]
            columns = f"step.RetileStreamify(axis=1).apply(step.Promote(b=0).apply({streams[0]}))"
            streams[0] = self._in_blocks(columns, 1)
        others = sum(writer.bytes_of(each) for each in unit.reads if "r" not in each.labels)
        tile = 4 * self._deep * writer.blocks.numbers(part)[1]  # of the second factor, where it comes in tiles
        writer.costs.kept += self._lanes * (writer.bytes_of(part) + (tile if unit.is_outer else others))
        reads = () if unit.is_outer else (others,)
        cost = UnitCost(self._lanes, depth, unit.body.flops, reads)
        lines = "\n".join([*unit.body.lines, f"return [{unit.result}]"])
        init = (0.0,) if unit.is_outer else None
        name = "product" if part.bare else "between"
        call = writer.function(name, types, writer.tile_type(part), lines, cost, init)
        operator = f"step.Accum({call.format(', b=1')})" if unit.is_outer else f"step.Map({call.format('')})"
        self._said(part)
        self._named(part, part.node.name, f"{operator}.apply({tuple_text(streams)})")

    def _said(self, part: TilePart) -> None:
        before = len(self._writer.lines)
        self._writer.said(part.node)
        self._writer.lines[before:] = [f"    {line}" for line in self._writer.lines[before:]]
