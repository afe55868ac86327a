"""The lines of a program over blocks: loads of stacks of tiles and of rows, one Map, and stores. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from stepagents.lower.functions import fresh_name
from stepagents.schedules.arrays.body import ArrayBody, is_lookup, lookup_of
from stepagents.schedules.arrays.loops import BlockLoop
from stepagents.schedules.arrays.parts import VIEWS, ArrayPart, block_dims, is_loop, is_whole, loops_of, viewed
from stepagents.schedules.arrays.walks import Walk, walk_of
from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.indices import Atom
from stepagents.schedules.parts import LABELS, NoSchedule, scalar_of, shape_of
from stepagents.schedules.writer import (
    POSITION,
    Family,
    MemoryView,
    ProgramLane,
    Writer,
    lane_count,
    tuple_text,
)
from stepagents.traced.graph import opname, size_text
from stepcore.printing.code_lines import factor
from stepcore.sizes.dim import Dim, product
from stepcore.types import DTYPE_BYTES, Buffer, Element, Tile, element_bytes


class ArrayWriter:
    """One program in the making: ``part`` is a block of the result, ``loops`` run over blocks, outermost first."""

    def __init__(self, writer: Writer, part: ArrayPart, loops: Sequence[BlockLoop], memory: str) -> None:
        self._writer, self._part, self._memory = writer, part, memory
        self._loops = loops
        self._live = [loop for loop in loops if loop.rounds > 1]
        self._lanes = tuple(lane for lane in writer.lanes.values() if lane.count > 1)
        self._rounds = prod(loop.rounds for loop in loops)
        self._counts: dict[str, str] = {}
        for loop in self._live:
            name = loop.count
            if not (name.isidentifier() or name.isdigit()):
                name = fresh_name(LABELS[loop.label].count, writer.taken)
                writer.lines.append(f"{name} = {loop.count}")
            self._counts[loop.name] = name

    def write(self, body: ArrayBody, value: str) -> None:
        """Write all of it; ``value`` is the text of the result in ``body``.

        Raises:
            NoSchedule: blocks do not lie in memory as tiles.
        """
        writer = self._writer
        for node in body.matrices:
            kernel = ", ".join(str(size) for size in shape_of(node)[2:])
            dims = shape_of(node)
            writer.views[node.name] = MemoryView((dims[0], product(dims[1:])), f".unflatten(1, (-1, {kernel}))")
        writer.bounded.update(body.bounded)
        writer.said(self._part.node)
        streams: list[Family] = []
        types: list[Tile] = []
        for part in body.inputs:
            family, tile = self._looked_up(part) if is_lookup(part.node) else self._loaded(part)
            streams.append(family)
            types.append(tile)
        walk = self._walk(self._part)
        out = Tile(scalar_of(self._part.node), walk.tile)
        count = walk.count
        output: Element = out
        dims = block_dims(self._part)
        if walk.stack:
            output = Buffer(out, (count,))
            value = body.reshaped(value, dims, (count, *walk.tile))
        else:
            value = body.reshaped(value, dims, walk.block)
        reads = tuple(self._bytes(tile) for tile in types)
        unit = UnitCost(lane_count(self._lanes), self._rounds, max(body.flops, 1), reads, self._bytes(out, count))
        call = writer.function("block", types, output, body.returning(value), unit).format("")
        operator = "FlatMap" if walk.stack else "Map"
        self._store(walk, f"step.{operator}({call}).apply({tuple_text([each.text() for each in streams])})", out)

    # -- loads -------------------------------------------------------------------------------------

    def _loaded(self, part: ArrayPart) -> tuple[Family, Tile]:
        """Write the loads of blocks of a tensor of the user's, one for each lane that has its own."""
        walk = self._walk(part)
        own = self._own(part)
        used = self._used(part)
        text = self._load(part, walk, used, own)
        for loop in self._live[len(used) :]:
            text = f"step.Repeat(n={self._counts[loop.name]}).apply({text})"
        if self._live and not used:
            text = f"step.Flatten(L=[{len(self._live)}]).apply({text})"
        shared = tuple(lane for lane in self._lanes if lane not in own)
        tile = Tile(scalar_of(part.node), walk.block)
        if walk.stack or len(used) < len(self._live):
            self._writer.costs.kept += lane_count(own) * self._bytes(tile)
        return self._writer.shared(text, f"{part.node.name}_blocks", own, shared), tile

    def _load(self, part: ArrayPart, walk: Walk, used: Sequence[BlockLoop], own: Sequence[ProgramLane]) -> str:
        """Return the load of blocks in ``used`` loops, each joined to one tile."""
        writer = self._writer
        shape = [(self._size(step.atom), step.text) for step in reversed(walk.stack)]
        for loop in reversed(used):
            step = walk.step(loop.name)
            shape.append((self._counts[loop.name], "0" if step is None else step.text))
        if not used:
            shape.append(("1", "0"))
        counts, strides = zip(*shape, strict=True)
        base = self._base(walk, own)
        arguments = [
            f"tensor={part.node.name}", f"tile=[{walk.texts[0]}, {walk.texts[1]}]",
            f"shape=[{', '.join(counts)}]", f"stride=[{', '.join(strides)}]",
            *([f"base={base}"] if base else []), "dispatch=@",
        ]  # fmt: skip
        calls = prod(loop.rounds for loop in used) * walk.count.bind(writer.blocks.bound)
        writer.costs.loads.append(LoadCost(lane_count(tuple(own)), calls, self._bursts(part, walk)))
        return _stacked(f"step.LinearOffChipLoad({', '.join(arguments)}).apply()", len(walk.stack))

    def _looked_up(self, part: ArrayPart) -> tuple[Family, Tile]:
        """Write the loads of rows at the places that a tensor names.

        Raises:
            NoSchedule: the rows are cut, or the places are computed.
        """
        writer = self._writer
        table, places = lookup_of(part.node)
        rank = len(shape_of(places))
        if not all(map(is_whole, part.at[rank:])):
            raise NoSchedule("rows that are looked up cannot be cut", part.node)
        named = ArrayPart(places, part.at[:rank])
        while opname(named.node) in VIEWS - {"permute", "expand"}:
            named = viewed(named, writer.blocks.bound)
        if named.node.op != "placeholder":
            raise NoSchedule("places that the function computes cannot be looked up in tiles yet", part.node)
        writer.bounded[named.node.name] = shape_of(table)[0] - 1
        walk = self._walk(named)
        own = self._lanes
        text = f"step.Promote(b=0).apply({self._load(named, walk, self._live, own)})"
        if walk.block[0] != 1:
            text = f"step.RetileStreamify(axis=0).apply({text})"
        text = f"step.RetileStreamify(axis=1).apply({text})"
        columns = shape_of(table)[-1] if len(shape_of(table)) > 1 else Dim.of(1)
        load = f"tensor={table.name}, tile=[1, {columns}], dispatch=@"
        text = f"step.Retile(axis=0).apply(step.RandomOffChipLoad({load}).apply({text}))"
        count = product(walk.block)
        tile = Tile(scalar_of(table), (count, columns))
        lanes, number = lane_count(own), count.bind(writer.blocks.bound)
        bursts = -(-DTYPE_BYTES[scalar_of(table)] * columns.bind(writer.blocks.bound) // writer.burst)
        writer.costs.loads.append(LoadCost(lanes, self._rounds * number, bursts))
        writer.costs.kept += lanes * self._bytes(tile)
        return writer.shared(text, f"{table.name}_rows", own, ()), tile

    def _used(self, part: ArrayPart) -> Sequence[BlockLoop]:
        """Return the loops up to the last one that chooses a part: behind those, it is the same one."""
        own = loops_of(part)
        last = max((place for place, loop in enumerate(self._live, 1) if loop.name in own), default=0)
        return self._live[:last]

    def _own(self, part: ArrayPart) -> tuple[ProgramLane, ...]:
        """Return the lanes that have blocks of a part of their own."""
        names = loops_of(part)
        labels = {loop.label for loop in self._loops if loop.name in names and loop.lanes > 1}
        return tuple(lane for lane in self._lanes if lane.label in labels)

    # -- stores ------------------------------------------------------------------------------------

    def _store(self, walk: Walk, text: str, tile: Tile) -> None:
        """Write the stores of all lanes: one behind the other, or each tile at its number."""
        writer = self._writer
        calls = self._rounds * walk.count.bind(writer.blocks.bound)
        writer.costs.stores.append(LoadCost(lane_count(self._lanes), calls, self._bursts(self._part, walk)))
        place = None if self._is_in_order(walk) else self._numbers(walk, calls)
        for depth, lane in enumerate(self._lanes):
            writer.lines.append(f"{'    ' * depth}for {lane.index} in range({lane.count}):")
        margin = "    " * len(self._lanes)
        writer.lines.append(f"{margin}tile = {text}")
        if place is not None:
            store = f"step.RandomOffChipStore(tensor={self._memory}, dispatch=@).apply(({place}, tile))"
            writer.lines.append(f"{margin}{store}")
            return
        base = self._base(walk, self._lanes)
        base = f", base={base}" if base else ""
        writer.lines.append(f"{margin}step.LinearOffChipStore(tensor={self._memory}{base}, dispatch=@).apply(tile)")

    def _is_in_order(self, walk: Walk) -> bool:
        """Whether the tiles of a lane lie one behind the other."""
        found = {loop.name: loop for loop in self._loops}
        names = [str(step.atom.name) for step in walk.order if is_loop(step.atom)]
        if names != [loop.name for loop in self._loops]:
            return False
        has_run = has_stack = False
        for step in walk.order:
            atom = step.atom
            if not is_loop(atom):
                has_stack = True
                continue
            loop = found[str(atom.name)]
            if (loop.lanes > 1 and (has_run or has_stack)) or (loop.rounds > 1 and has_stack):
                return False
            has_run = has_run or loop.rounds > 1
        return True

    def _numbers(self, walk: Walk, calls: int) -> str:
        """Write streams that count the tiles that each lane stores, and return the stream of their numbers in memory.

        Raises:
            NoSchedule: lanes share several dimensions.
        """
        writer = self._writer
        if len(self._lanes) > 1:
            raise NoSchedule("a store cannot follow the tiles of a lane: they do not lie one behind the other")
        factors = [self._counts[loop.name] for loop in self._live]
        total = " * ".join(map(factor, [*factors, str(walk.count)]))
        text = writer.counting(f"step.Repeat(n={total}).apply({writer.zero()})", calls)
        text = f"step.Flatten(L=[1]).apply({text})"
        name = fresh_name("counts", writer.taken)
        if self._lanes:
            (lane,) = self._lanes
            share = product(loop.atom.size for loop in self._loops) // lane.count * walk.count
            unit = UnitCost(lane.count, calls, 0)
            further = writer.function("further", [POSITION], POSITION, f"return [input[0] + {size_text(share)}]", unit)
            family = writer.walked(text, name, lane, (), 1, further.format(""))
        else:
            family = writer.shared(text, name, (), ())
        unit = UnitCost(lane_count(self._lanes), calls, 0)
        call = writer.function("number", [POSITION], POSITION, f"return [{self._number(walk)}]", unit).format("")
        return f"step.Map({call}).apply({family.text()})"

    def _number(self, walk: Walk) -> str:
        """Return the number in memory of a tile that is counted in the order in which tiles come."""
        steps = [*reversed(walk.stack)]
        steps += [step for loop in reversed(self._loops) if (step := walk.step(loop.name)) is not None]
        terms: list[str] = []
        inside = Dim.of(1)
        for place, step in enumerate(steps):
            digit = "input[0]" if inside == 1 else f"input[0] // {factor(size_text(inside))}"
            if place < len(steps) - 1:
                digit = f"{digit} % {factor(size_text(step.atom.size))}"
            terms.append(digit if step.tiles == 1 else f"{digit} * {factor(size_text(step.tiles))}")
            inside *= step.atom.size
        return " + ".join(terms)

    # -- texts -------------------------------------------------------------------------------------

    def _walk(self, part: ArrayPart) -> Walk:
        dims, at = shape_of(part.node), part.at
        view = self._writer.views.get(part.node.name)
        if view is not None:
            dims, at = view.dims, (at[0], tuple(atom for index in at[1:] for atom in index))
        try:
            return walk_of(dims, at, self._size)
        except NoSchedule as error:
            raise NoSchedule(str(error), part.node) from None

    def _size(self, atom: Atom) -> str:
        """Return the size of an atom as text for a program."""
        loop = next((loop for loop in self._loops if loop.name == atom.name), None)
        if loop is not None:
            return loop.size
        names = {LABELS[label].size: name for label, name in self._writer.names.items()}
        return names.get(str(atom.name), str(atom.size)) if atom.name else str(atom.size)

    def _base(self, walk: Walk, lanes: Sequence[ProgramLane]) -> str:
        """Return the number of the first tile of the lane at hand."""
        counts = {lane.label: lane.count for lane in lanes}
        terms: list[str] = []
        for loop in self._loops:
            step = walk.step(loop.name)
            if step is None or loop.lanes == 1 or loop.label not in counts:
                continue
            run = [self._counts[loop.name]] if loop.rounds > 1 else []
            factors = [loop.place(counts[loop.label]), *run, *([] if step.text == "1" else [step.text])]
            terms.append(" * ".join(map(factor, factors)) if len(factors) > 1 else factors[0])
        return " + ".join(terms)

    def _bursts(self, part: ArrayPart, walk: Walk) -> int:
        rows, columns = (size.bind(self._writer.blocks.bound) for size in walk.tile)
        return rows * -(-DTYPE_BYTES[scalar_of(part.node)] * columns // self._writer.burst)

    def _bytes(self, tile: Tile, count: Dim | int = 1) -> int:
        return (element_bytes(tile) * count).bind(self._writer.blocks.bound)


def _stacked(text: str, dims: int) -> str:
    """Return a stream whose first dimensions are the rows of one tile."""
    if dims > 1:
        text = f"step.Flatten(L=[{', '.join(map(str, range(1, dims)))}]).apply({text})"
    return f"step.Retile(axis=0).apply({text})" if dims else text
