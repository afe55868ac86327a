"""A mixture of experts as a program: rows are routed, those of an expert are tiles that its weights are read against.

*Dynamic* tiles have all rows of an expert, so that its weights are read once; *static* ones so many, and the last is
filled up. With static tiles several experts can share a region of units, which takes tiles as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.bodies import declared
from stepagents.schedules.indices import IndexedValue
from stepagents.schedules.naming import file_names, kept_apart, line_comment, own_name, own_size
from stepagents.schedules.parts import WHOLE, Blocks, TilePart, shape_of
from stepagents.schedules.programs import Tiled, program_spec
from stepagents.schedules.routed.costs import MixtureCosts, scored_at_once
from stepagents.schedules.routed.experts import FOLDED, ExpertBlock, down_tile, product, tile_of
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer import tuple_text
from stepagents.traced.graph import size_text
from stepcore.fn.decl import FnDecl
from stepcore.sizes.dim import Dim
from stepcore.sizes.kinds import any_size
from stepcore.types import Buffer, Element, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware

_FLAG: Final = Scalar("bool")
_LOCALS: Final = (
    "blocks", "scored", "scores", "tokens", "chosen", "shares", "routed", "outs", "tile", "data", "padding", "given",
    "flags", "kept", "pairs", "joined", "which", "numbers", "fills", "ys", "h", "y", "n", "i", "j", "r",
    *(f"{name}{copy}" for name in "bstvmwxpje" for copy in range(10)),
)  # fmt: skip


def written(
    traced: TracedFunction, plan: MixturePlan, point: MixturePoint, chip: Hardware, rows: Sequence[int]
) -> Tiled:
    """Return the program of a point. ``rows`` are those of each expert, by which its cost is told.

    Raises:
        NoSchedule: an operation has no form over tiles.
    """
    return _Writing(traced, plan, point, chip).program(rows)


class _Writing:
    """One program in the making."""

    def __init__(self, traced: TracedFunction, plan: MixturePlan, point: MixturePoint, chip: Hardware) -> None:
        self._traced = traced
        self._plan = plan
        self._point = point
        self._chip = chip
        self._taken = {"input", "state", *_LOCALS, *file_names(traced, plan.bound)}
        self._memory = fresh_name("result", self._taken)
        self._fns: list[FnDecl] = []
        self._read: set[str] = set()
        self._real = ""
        self._last = plan.mixture.rows[-1].size if plan.mixture.rows else Dim.of(1)
        self._block = scored_at_once(plan)
        self._rows = own_size(plan.rows)

    def program(self, rows: Sequence[int]) -> Tiled:
        """Return the program, with what it costs where experts have so many rows each."""
        plan, point = self._plan, self._point
        costs = MixtureCosts(plan, point, self._chip, rows)
        text = self._text(costs.costs.speeds())
        own = {item.name for item in self._traced.inputs} | {*plan.bound, self._memory}
        text = kept_apart(text, _LOCALS, own, self._taken)
        result = shape_of(plan.mixture.node)
        spec = program_spec(self._traced, text, self._fns, (self._memory, result), plan.bound, read=self._read)
        experts = plan.mixture.experts
        whole = {str(experts): plan.count} if experts.constant is None else {}
        divisors = {**whole, **({} if plan.cut.constant else {str(plan.cut): point.columns})}
        if self._last.constant is None:
            divisors[str(self._last)] = self._block
        again = -(-plan.rows.bind(plan.bound) // point.rows) if point.rows else 1
        return Tiled(spec, text, costs.costs, point.text, divisors, costs.costs.kept, least=whole, read_again=again)

    # -- element functions ---------------------------------------------------------------------------

    def _declare(
        self, name: str, given: Sequence[Element], output: Element, body: str, init: tuple[float, ...] | None = None
    ) -> str:
        name = fresh_name(name, self._taken)
        taken = given[0] if len(given) == 1 else STuple(given)  # type: ignore[arg-type]
        self._fns.append(declared(name, taken, output, body, init))
        return name

    # -- the program -----------------------------------------------------------------------------------

    def _text(self, speeds: Sequence[int]) -> str:
        plan, count = self._plan, self._plan.count
        lines = [f"n = {own_size(plan.cut)} // {self._point.columns}", *self._scored(speeds[0])]
        lines += [
            f"s0, s1 = step.Copy(depth={self._rows}).apply(chosen)",
            f"routed = step.Partition(N={count}, depth={self._rows}).apply((tokens, s0))",
            "outs = []",
            *self._owned(),
            *line_comment(plan.mixture.terms[0].factors[0].node),
            *(self._alone(speeds) if self._point.shared == 1 else self._in_turn(speeds)),
            *line_comment(plan.mixture.node),
            *self._weighed(),
        ]
        return "\n".join(lines)

    def _scored(self, speed: int) -> list[str]:
        """Write the rows, and for each row the experts that it goes to and what they count."""
        plan, router = self._plan, self._plan.router
        lines = line_comment(plan.mixture.choice.node)
        lines.append(f"blocks = {self._blocks_of(plan.taken)}")
        rest, scored = "blocks", ""
        if plan.scorer is not None and plan.scorer.takes is not None:
            given = "b0"
            if plan.scorer.takes.node is plan.taken.node:
                lines.append("b0, b1 = step.Copy().apply(blocks)")
                rest = "b1"
            else:
                lines.append(f"b0 = {self._blocks_of(plan.scorer.takes)}")
            scored = f"step.RetileStreamify(axis=0).apply({self._scores(plan.scorer, given, speed)})"
        uses = [*router.chosen.inputs, *router.shares.inputs]
        names: dict[TilePart, list[str]] = {}
        for number, part in enumerate(dict.fromkeys(uses)):
            own = [f"v{2 * number + copy}" for copy in range(uses.count(part))]
            names[part] = list(own)
            text = scored if part.bare else self._row_load(part)
            lines.append(f"{', '.join(own)} = {text if len(own) == 1 else f'step.Copy().apply({text})'}")
        lines.append(f"tokens = step.RetileStreamify(axis=0).apply({rest})")
        shares = Tile("fp32", (1, plan.mixture.choice.count))
        for name, called, output, function in (
            ("chosen", "choose", Multihot(_FLAG, plan.count), router.chosen),
            ("shares", "share", shares, router.shares),
        ):  # fmt: skip
            given = tuple_text([names[part].pop(0) for part in function.inputs])
            types = [self._row_tile(part) for part in function.inputs]
            fn = self._declare(called, types, output, function.body)
            depth = f", depth={self._rows}" if name == "shares" else ""
            lines.append(f"{name} = step.Map(fn={fn}{depth}).apply({given})")
        return lines

    def _blocks_of(self, value: IndexedValue) -> str:
        """Return the stream of a tensor's rows, so many in a tile."""
        labels = self._labels(value)
        blocks = Blocks({"r": Dim.of(self._block)}, self._plan.bound)
        body = TileBody(blocks)
        part = TilePart(value.node, labels)
        text = body.of(part)
        loads = [self._block_load(each, blocks) for each in body.inputs]
        if not body.lines and text == "input[0]":
            return loads[0]
        types = [Tile("fp32", blocks.tile(each)) for each in body.inputs]
        fn = self._declare("rows", types, Tile("fp32", blocks.tile(part)), body.returning(text))
        return f"step.Map(fn={fn}).apply({tuple_text(loads)})"

    def _labels(self, value: IndexedValue) -> tuple[str, ...]:
        rows = set(self._plan.mixture.rows)
        return tuple("r" if index and set(index) <= rows else WHOLE for index in value.at)

    def _block_load(self, part: TilePart, blocks: Blocks) -> str:
        shape = f"shape=[{self._rows} // {self._block}], stride=[{int('r' in part.labels)}]"
        return self._load(part.node, blocks.tile(part), shape)

    def _row_tile(self, part: TilePart) -> Tile:
        return Tile("fp32", Blocks({"r": Dim.of(1)}, self._plan.bound).tile(part))

    def _row_load(self, part: TilePart) -> str:
        shape = f"shape=[{self._rows}], stride=[{int('r' in part.labels)}]"
        return self._load(part.node, self._row_tile(part).shape, shape)

    def _load(self, node: Node, tile: Sequence[Dim], more: str = "", tensor: str = "", ref: str = "") -> str:
        """Return the load of a tensor: in the order that ``more`` says, else of the tiles whose numbers ``ref`` has."""
        self._read.add(node.name)
        port = "" if self._point.dispatch is None else f"dispatch={self._point.dispatch}"
        named = f"tensor={tensor or own_name(node.name)}", f"tile=[{', '.join(map(own_size, tile))}]", more, port
        operator = "LinearOffChipLoad" if more else "RandomOffChipLoad"
        return f"step.{operator}({', '.join(filter(None, named))}).apply({ref})"

    def _scores(self, block: ExpertBlock, given: str, speed: int) -> str:
        """Return the stream of scores, so many rows in a tile; the weights are read for each tile."""
        assert block.takes is not None
        rows = Dim.of(self._block)
        types = [Tile("fp32", (rows, shape_of(block.takes.node)[-1]))]
        loads = [given]
        for operand in block.operands:
            tile = tile_of(operand, block.columns)
            types.append(Tile("fp32", tile))
            loads.append(self._load(operand.node, tile, f"shape=[{self._rows} // {self._block}], stride=[0]"))
        names = {name: f"input[{place}]" for place, (name, _) in enumerate(block.vectors, len(block.products) + 1)}
        computed = [(name, place) for place, (name, _) in enumerate(block.products, 1)]
        fn = self._declare("scores", types, Tile("fp32", (rows, block.columns)), block.body(names, computed))
        return f"step.Map(fn={fn}, bw={speed}).apply({tuple_text(loads)})"

    # -- experts ---------------------------------------------------------------------------------------

    def _owned(self) -> list[str]:
        """Write the tensors of experts that lie apart, one list for each."""
        lines: list[str] = []
        self._tensors: list[str] = []
        for number, operands in enumerate(self._plan.operands):
            self._read |= {each.node.name for each in operands}
            if self._plan.places(operands) is None:
                self._tensors.append(f"w{number}[i]")
                lines.append(f"w{number} = [{', '.join(own_name(each.node.name) for each in operands)}]")
            else:
                self._tensors.append(own_name(operands[0].node.name))
        return lines

    def _alone(self, speeds: Sequence[int]) -> list[str]:
        """Write regions of one expert each."""
        if self._point.rows:
            lines = [self._filled("i"), "tile = step.Retile(axis=0).apply(data)"]
        else:
            lines = ["tile = step.Retile(axis=0).apply(step.Promote(b=1).apply(routed[i]))"]
        refs = self._refs()
        lines += [f"{', '.join(refs)} = step.Copy(n={len(refs)}).apply(tile)", *self._computed(speeds)]
        if self._point.rows:
            lines += self._kept("y", "padding")
        else:
            lines.append(f"outs.append(step.RetileStreamify(axis=0, depth={self._rows}).apply(y))")
        return [f"for i in range({self._plan.count}):", *(f"    {line}" for line in lines)]

    def _filled(self, expert: str) -> str:
        return f"data, padding = step.Reshape(S={self._point.rows}, L=[0], pad=0).apply(routed[{expert}])"

    def _kept(self, tiles: str, padding: str) -> list[str]:
        """Write the rows of tiles that do not fill them up."""
        if not self._real:
            body = "return [torch.logical_not(input[0]).reshape(1)]"
            self._real = self._declare("is_real", [_FLAG], Multihot(_FLAG, 1), body)
        depth = f"depth={self._rows}"
        rows = f"step.RetileStreamify(axis=0).apply({tiles})"
        return [
            f"flags = step.Map(fn={self._real}, {depth}).apply(step.Flatten(L=[1]).apply({padding}))",
            f"[kept] = step.Partition(N=1, {depth}).apply(({rows}, flags))",
            "outs.append(kept)",
        ]

    def _in_turn(self, speeds: Sequence[int]) -> list[str]:
        """Write regions that work for several experts: tiles come as they are filled, weights by their expert."""
        plan, point = self._plan, self._point
        refs, count, regions = self._refs(), point.shared, plan.count // point.shared
        steps = plan.cut // point.columns
        row, fills = Tile("fp32", (point.rows, shape_of(plan.taken.node)[-1])), Buffer(_FLAG, (point.rows,))
        pair = STuple((row, fills))
        rows = self._declare("rows_of", [pair], row, "return [input[0]]")
        padding = self._declare("padding_of", [pair], fills, "return [input[1]]")
        text = size_text(steps)
        numbers = [
            self._declare(
                f"numbers{number}", [Multihot(_FLAG, count)], Buffer(Scalar("int64"), (steps,)),
                f"first = torch.argmax(input[0].to(torch.int64)) + {number * count}\n"
                f"return [first * ({text}) + torch.arange({text})]",
            )
            for number in range(regions)
        ]  # fmt: skip
        depth = f"depth={self._rows}"
        lines = [
            "pairs = []",
            f"for j in range({count}):",
            f"    {self._filled(f'r * {count} + j')}",
            "    tile = step.Retile(axis=0).apply(data)",
            "    pairs.append(step.Zip().apply((tile, step.Bufferize(a=1).apply(padding))))",
            "joined, which = step.EagerMerge().apply(pairs)",
            "j0, j1 = step.Copy().apply(joined)",
            f"e0, e1, e2 = step.Copy(n=3, {depth}).apply(which)",
            "given = step.Streamify().apply(step.Map(fn=numbers[r]).apply(e0))",
            f"{', '.join(refs[:-1])} = step.Copy(n={len(refs) - 1}).apply(given)",
            f"{refs[-1]} = step.Map(fn={rows}).apply(j0)",
            *self._computed(speeds),
            f"ys = step.Partition(N={count}).apply((y, e1))",
            f"fills = step.Partition(N={count}, {depth}).apply((step.Map(fn={padding}, {depth}).apply(j1), e2))",
            f"for j in range({count}):",
            *(f"    {line}" for line in self._kept("ys[j]", "step.Streamify().apply(fills[j])")),
        ]
        own = f"numbers = [{', '.join(numbers)}]"
        return [own, f"for r in range({regions}):", *(f"    {line}" for line in lines)]

    def _refs(self) -> list[str]:
        """Return the streams for which a tile of each tensor is read, and that of the rows."""
        return [f"t{number}" for number in range(len(self._plan.operands) + 1)]

    def _computed(self, speeds: Sequence[int]) -> list[str]:
        """Write what an expert computes of its tiles."""
        plan, expert = self._plan, self._plan.first
        rows = Dim.of(self._point.rows) if self._point.rows else any_size("R")
        width, columns = shape_of(plan.taken.node)[-1], Dim.of(self._point.columns)
        block = expert.hidden or expert.outer
        refs = self._refs()
        lines: list[str] = []
        tiles = [tile_of(each, columns) for each in block.operands]
        loads = [self._tile_load(number, tile, refs[number]) for number, tile in enumerate(tiles)]
        taken, first = Tile("fp32", (rows, width)), Tile("fp32", (rows, columns))
        count = len(block.products)
        repeated = [f"x{number}" for number in range(count)]
        text = f"step.Repeat(n=n).apply({refs[-1]})"
        lines.append(f"{', '.join(repeated)} = {text if count == 1 else f'step.Copy(n={count}).apply({text})'}")
        names: dict[str, str] = {}
        given, types = [repeated[-1], loads[count - 1]], [taken, Tile("fp32", tiles[count - 1])]
        for number, (name, operand) in enumerate(block.products[:-1]):
            body = f"return [{product(1, turned=operand.turned)}]"
            fn = self._declare("product", [taken, Tile("fp32", tiles[number])], first, body)
            lines.append(
                f"p{number} = step.Map(fn={fn}, bw={speeds[1 + number]}).apply(({repeated[number]}, {loads[number]}))"
            )
            names[name] = f"input[{len(given)}]"
            given.append(f"p{number}")
            types.append(first)
        for number, (name, _) in enumerate(block.vectors, count):
            names[name] = f"input[{len(given)}]"
            given.append(loads[number])
            types.append(Tile("fp32", tiles[number]))
        body = block.body(names, [(block.products[-1][0], 1)])
        fn = self._declare("expert" if expert.hidden is None else "hidden", types, first, body)
        lines.append(f"h = step.Map(fn={fn}, bw={speeds[count]}).apply({tuple_text(given)})")
        if expert.down is None:
            return [*lines, "y = step.Retile(axis=1).apply(h)"]
        number = len(block.operands)
        whole = Tile("fp32", (rows, expert.outer.columns))
        down = expert.down
        tile = down_tile(down, columns, expert.outer.columns)
        body = f"return [state[0] + {product(1, turned=down.turned)}]"
        fn = self._declare("down", [first, Tile("fp32", tile)], whole, body, (0,))
        load = self._tile_load(number, tile, refs[number])
        lines.append(f"y = step.Accum(fn={fn}, b=1, bw={speeds[-1]}).apply((h, {load}))")
        return [*lines, *self._finished(whole, refs, number + 1)]

    def _finished(self, whole: Tile, refs: Sequence[str], first: int) -> list[str]:
        """Write what is computed behind the last product."""
        outer = self._plan.first.outer
        if outer.is_folded:
            return []
        tiles = [tile_of(each, outer.columns) for each in outer.operands]
        given = ["y"]
        names = {name: f"input[{place}]" for place, (name, _) in enumerate(outer.vectors, 1)} | {FOLDED: "input[0]"}
        for number, tile in enumerate(tiles, start=first):
            given.append(f"step.Flatten(L=[1]).apply({self._tile_load(number, tile, refs[number], '1')})")
        fn = self._declare("finish", [whole, *(Tile("fp32", tile) for tile in tiles)], whole, outer.body(names))
        return [f"y = step.Map(fn={fn}).apply({tuple_text(given)})"]

    def _tile_load(self, number: int, tile: Sequence[Dim], ref: str, count: str = "n") -> str:
        operands = self._plan.operands[number]
        if self._point.shared > 1:
            return self._load(operands[0].node, tile, "", self._tensors[number], ref)
        base = ""
        if self._plan.places(operands):
            base = ", base=i" if count == "1" else f", base=i * {count}"
        return self._load(operands[0].node, tile, f"shape=[{count}], stride=[1]{base}", self._tensors[number], ref)

    # -- results ---------------------------------------------------------------------------------------

    def _weighed(self) -> list[str]:
        """Write the sum of what the experts of a row give, by what they count: they come in ascending order."""
        plan = self._plan
        columns = plan.first.outer.columns
        row, share = Tile("fp32", (1, columns)), Tile("fp32", (1, plan.mixture.choice.count))
        state = STuple((row, Tile("int64", (1, 1))))
        body = "return [state[0] + torch.gather(input[1], 1, state[1]) * input[0], state[1] + 1]"
        weigh = self._declare("weigh", [row, share], state, body, (0, 0))
        summed = self._declare("summed", [state], row, "return [input[0]]")
        return [
            "m0, m1 = step.Copy().apply(step.Reassemble().apply((outs, s1)))",
            f"y = step.Accum(fn={weigh}, b=1, bw={2 * columns.bind(plan.bound)})"
            ".apply((m1, step.RepeatRef().apply((shares, m0))))",
            f"y = step.Map(fn={summed}).apply(y)",
            *self._with_residual(row),
            f"step.LinearOffChipStore(tensor={self._memory}).apply(y)",
        ]

    def _with_residual(self, row: Tile) -> list[str]:
        residual = self._plan.residual
        if residual is None:
            return []
        types = [*map(self._row_tile, residual.inputs), row]
        fn = self._declare("with_residual", types, row, residual.body)
        given = tuple_text([*map(self._row_load, residual.inputs), "y"])
        return [f"y = step.Map(fn={fn}, bw={len(types) * row.shape[1].bind(self._plan.bound)}).apply({given})"]
