"""What stands before the experts and behind them: rows and their scores, and the sum of what experts give.

No expert works beside either, so what units read of memory, or write to it, is spread over *lanes* where that takes a
part of the cycles: rows are scored by pieces of their columns, and rows of the result go out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepagents.schedules.indices import IndexedValue
from stepagents.schedules.naming import line_comment
from stepagents.schedules.parts import Blocks, TilePart, shape_of
from stepagents.schedules.routed.costs import MixtureCosts
from stepagents.schedules.routed.experts import ExpertBlock, ExpertTensor, product, tile_of
from stepagents.schedules.routed.plan import rows_body
from stepagents.schedules.routed.regions import RegionWriter
from stepagents.schedules.writer import tuple_text
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.types import Multihot, Scalar, STuple, Tile

FLAG: Final = Scalar("bool")


class FinalMap(Record):
    """A Map that computes rows of the result: its function, what it takes, the lines before it, FLOPs per cycle."""

    fn: str
    given: tuple[str, ...]
    before: tuple[str, ...] = ()
    speed: int | None = None

    @property
    def unit(self) -> str:
        """The unit as a program names it."""
        return f"step.Map(fn={self.fn}{'' if self.speed is None else f', bw={self.speed}'})"


class EndsWriter(RegionWriter):
    """The lines before the experts and behind them; ``_costs`` tell in how many lanes."""

    _costs: MixtureCosts

    def _scored(self, speed: int) -> list[str]:
        """Write the rows, and for each row the experts that it goes to and what they count."""
        plan, router = self._plan, self._plan.router
        lines = line_comment(plan.mixture.choice.node)
        lines.append(f"blocks = {self._blocks_of(plan.taken)}")
        rest, scores = "blocks", ""
        scorer = plan.scorer
        if scorer is not None and scorer.takes is not None:
            if self._costs.scorer_lanes > 1:
                lines += self._pieces(scorer, scorer.takes, speed)
                scores = self._from_pieces(scorer)
            elif scorer.takes.node is plan.taken.node:
                lines.append("scored, sent = step.Copy().apply(blocks)")
                rest, scores = "sent", self._scores(scorer, "scored", speed)
            else:
                lines.append(f"scored = {self._blocks_of(scorer.takes)}")
                scores = self._scores(scorer, "scored", speed)
            scores = f"step.RetileStreamify(axis=0).apply({scores})"
        readers = ("choice", router.chosen), ("share", router.shares)
        uses = [(reader, each) for reader, function in readers for each in function.inputs]
        names: dict[TilePart, list[str]] = {}
        for number, part in enumerate(dict.fromkeys(each for _, each in uses)):
            own = [f"{reader}_{'scores' if part.bare else f'rows_{number}'}" for reader, each in uses if each == part]
            names[part] = list(own)
            text = scores if part.bare else self._row_load(part)
            lines.append(f"{', '.join(own)} = {text if len(own) == 1 else f'step.Copy().apply({text})'}")
        rest = f"step.RetileStreamify(axis=0).apply({rest})"
        count = len(plan.always)
        lines.append(f"tokens, *every = step.Copy(n={count + 1}).apply({rest})" if count else f"tokens = {rest}")
        shares = Tile("fp32", (1, plan.mixture.choice.count))
        for name, called, output, function in (
            ("chosen", "choose", Multihot(FLAG, plan.count), router.chosen),
            ("shares", "share", shares, router.shares),
        ):  # fmt: skip
            given = tuple_text([names[part].pop(0) for part in function.inputs])
            types = [self._row_tile(part) for part in function.inputs]
            fn = self._declare(called, types, output, function.body)
            depth = f", depth={self._rows}" if name == "shares" else ""
            lines.append(f"{name} = step.Map(fn={fn}{depth}).apply({given})")
        return lines

    def _blocks_of(self, value: IndexedValue, called: str = "rows") -> str:
        """Return the stream of a tensor's rows, so many in a tile, which the function ``called`` computes if any."""
        made = rows_body(self._plan, value)
        blocks = made.body.blocks
        loads = [self._block_load(each, blocks) for each in made.body.inputs]
        if made.is_read:
            return loads[0]
        types = [Tile("fp32", blocks.tile(each)) for each in made.body.inputs]
        fn = self._declare(called, types, Tile("fp32", blocks.tile(made.part)), made.body.returning(made.text))
        return f"step.Map(fn={fn}).apply({tuple_text(loads)})"

    def _block_load(self, part: TilePart, blocks: Blocks) -> str:
        shape = f"shape=[{self._rows} // {self._block}], stride=[{int('r' in part.labels)}]"
        return self._load(part.node, blocks.tile(part), shape)

    def _row_tile(self, part: TilePart) -> Tile:
        return Tile("fp32", Blocks({"r": Dim.of(1)}, self._plan.bound).tile(part))

    def _row_load(self, part: TilePart) -> str:
        shape = f"shape=[{self._rows}], stride=[{int('r' in part.labels)}]"
        return self._load(part.node, self._row_tile(part).shape, shape)

    def _scores(self, block: ExpertBlock, given: str, speed: int) -> str:
        """Return the stream of scores, so many rows in a tile; the weights are read for each tile."""
        assert block.takes is not None
        types = [Tile("fp32", (Dim.of(self._block), shape_of(block.takes.node)[-1]))]
        loads = [given]
        for operand in block.operands:
            types.append(Tile("fp32", tile_of(operand, block.columns)))
            loads.append(self._whole(operand, block))
        computed = [(name, place) for place, (name, _) in enumerate(block.products, 1)]
        body = block.body(_vectors(block, len(block.products) + 1), computed)
        fn = self._declare("scores", types, self._scores_tile(block), body)
        return f"step.Map(fn={fn}, bw={speed}).apply({tuple_text(loads)})"

    def _whole(self, operand: ExpertTensor, block: ExpertBlock) -> str:
        """Return the load of a whole tensor for each tile of rows."""
        shape = f"shape=[{self._rows} // {self._block}], stride=[0]"
        return self._load(operand.node, tile_of(operand, block.columns), shape)

    def _scores_tile(self, block: ExpertBlock) -> Tile:
        return Tile("fp32", (Dim.of(self._block), block.columns))

    @property
    def _scored_width(self) -> Dim:
        """The columns of rows that are scored."""
        scorer = self._plan.scorer
        assert scorer is not None
        assert scorer.takes is not None
        return shape_of(scorer.takes.node)[-1]

    def _pieces(self, block: ExpertBlock, takes: IndexedValue, speed: int) -> list[str]:
        """Write the products of pieces of rows with pieces of the router's matrix, a lane for each."""
        lanes, ((_, matrix),) = self._costs.scorer_lanes, block.products
        width = self._scored_width // lanes
        whole = tile_of(matrix, block.columns)
        piece = (whole[0], width) if matrix.turned else (width, whole[1])
        rows, own = (Dim.of(self._block), width), f"shape=[{self._rows} // {self._block}]"
        types = [Tile("fp32", rows), Tile("fp32", piece)]
        fn = self._declare("piece", types, self._scores_tile(block), f"return [{product(1, turned=matrix.turned)}]")
        loads = [
            self._load(takes.node, rows, f"{own}, stride=[{lanes}], base=lane"),
            self._load(matrix.node, piece, f"{own}, stride=[0], base=lane"),
        ]
        return [
            "pieces = []",
            f"for lane in range({lanes}):",
            f"    pieces.append(step.Map(fn={fn}, bw={speed}).apply({tuple_text(loads)}))",
        ]

    def _from_pieces(self, block: ExpertBlock) -> str:
        """Return the stream of scores from the products of pieces."""
        lanes, ((name, _),) = self._costs.scorer_lanes, block.products
        added = " + ".join(f"input[{lane}]" for lane in range(lanes))
        if block.lines or block.result != name:  # it stands in a larger term
            added = f"({added})"
        types = [self._scores_tile(block)] * lanes
        types += [Tile("fp32", tile_of(each, block.columns)) for _, each in block.vectors]
        fn = self._declare(
            "scores", types, self._scores_tile(block), block.body({name: added} | _vectors(block, lanes))
        )
        loads = "".join(f", {self._whole(each, block)}" for _, each in block.vectors)
        return f"step.Map(fn={fn}).apply((*pieces{loads or ','}))"

    def _weighed(self) -> list[str]:
        """Write the sum of what the experts of a row give, by what they count: they come in ascending order."""
        plan = self._plan
        columns = plan.first.outer.columns
        row, share = Tile("fp32", (1, columns)), Tile("fp32", (1, plan.mixture.choice.count))
        state = STuple((row, Tile("int64", (1, 1))))
        body = "return [state[0] + torch.gather(input[1], 1, state[1]) * input[0], state[1] + 1]"
        weigh = self._declare("weigh", [row, share], state, body, (0, 0))
        summed = self._declare("summed", [state], row, "return [input[0]]")
        lines = [
            "returned_to, returned = step.Copy().apply(step.Reassemble().apply((outs, routes_back)))",
            f"total = step.Accum(fn={weigh}, b=1, bw={2 * columns.bind(plan.bound)})"
            ".apply((returned, step.RepeatRef().apply((shares, returned_to))))",
        ]
        maps = [FinalMap(summed, ("total",)), *self._with_always(row), *self._with_residual(row)]
        for each in maps[:-1]:
            lines += [*each.before, f"total = {each.unit}.apply({tuple_text(each.given)})"]
        store = ", ".join(filter(None, (f"tensor={self._memory}", self._whole_port)))
        return [*lines, *self._in_lanes(maps[-1]), f"step.LinearOffChipStore({store}).apply(total)"]

    def _in_lanes(self, last: FinalMap) -> list[str]:
        """Write the unit whose rows go to memory, in so many lanes that none waits long for another."""
        lanes, unit = self._costs.result_lanes, last.unit
        if lanes == 1:
            return [*last.before, f"total = {unit}.apply({tuple_text(last.given)})"]
        lines = [*last.before, f"lanes, lane_of = step.Parallelize(N={lanes}, depth={lanes}).apply(total)"]
        others = [each for each in last.given if each != "total"]
        order, each_lane = "lane_of", f"[{unit}.apply(lane) for lane in lanes]"
        if others:
            *own, order = (f"lane_of_{number}" for number in range(len(others) + 1))
            lines.append(f"{', '.join((*own, order))} = step.Copy(n={len(others) + 1}, depth={lanes}).apply(lane_of)")
            split = {each: f"dealt_{number}" for number, each in enumerate(others)}
            lines += [
                f"{split[each]} = step.Partition(N={lanes}, depth={lanes}).apply(({each}, {selector}))"
                for each, selector in zip(others, own, strict=True)
            ]
            given = tuple_text([f"{split.get(each, 'lanes')}[lane]" for each in last.given])
            each_lane = f"[{unit}.apply({given}) for lane in range({lanes})]"
        restored = f"step.Reassemble(onehot=True).apply((done, {order}))"
        return [*lines, f"done = {each_lane}", f"total = step.Flatten(L=[1]).apply({restored})"]

    def _with_always(self, row: Tile) -> list[FinalMap]:
        count = len(self._plan.always)
        if not count:
            return []
        given, types = ["total", *(f"always[{number}]" for number in range(count))], [row] * (count + 1)
        lines: list[str] = []
        texts = ["input[0]"]
        for number, expert in enumerate(self._plan.always, start=1):
            text = f"input[{number}]"
            for share in expert.shares:
                factor = repr(share.value)
                if isinstance(share.value, IndexedValue):
                    factor = f"input[{len(given)}]"
                    lines += self._gate(share.value, name := f"gate_{len(given) - count - 1}")
                    given.append(name)
                    types.append(Tile("fp32", (1, 1)))
                text = f"{text} / {factor}" if share.inverse else f"{factor} * {text}"
            texts.append(text)
        fn = self._declare("with_always", types, row, f"return [{' + '.join(texts)}]")
        return [FinalMap(fn, tuple(given), tuple(lines), self._row_speed(types, row))]

    def _row_speed(self, types: Sequence[Tile], row: Tile) -> int:
        return len(types) * row.shape[1].bind(self._plan.bound)

    def _gate(self, value: IndexedValue, name: str) -> list[str]:
        """Write how much an expert that every row goes to counts for each row."""
        rows = self._blocks_of(value, "gate")
        return [*line_comment(value.node), f"{name} = step.RetileStreamify(axis=0).apply({rows})"]

    def _with_residual(self, row: Tile) -> list[FinalMap]:
        residual = self._plan.residual
        if residual is None:
            return []
        types = [*map(self._row_tile, residual.inputs), row]
        fn = self._declare("with_residual", types, row, residual.body)
        given = (*map(self._row_load, residual.inputs), "total")
        return [FinalMap(fn, given, speed=self._row_speed(types, row))]


def _vectors(block: ExpertBlock, first: int) -> dict[str, str]:
    """Return how an element function names the vectors of a block, which are its inputs from the number ``first``."""
    return {name: f"input[{place}]" for place, (name, _) in enumerate(block.vectors, first)}
