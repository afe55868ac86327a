"""A mixture of experts as a program: rows are routed, those of an expert are tiles that its weights are read against.

*Dynamic* tiles have all rows of an expert, so that its weights are read once; *static* ones so many, and the last is
filled up. With static tiles several experts can share a region of units, which takes tiles as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stepagents.schedules.indices import IndexedValue
from stepagents.schedules.naming import kept_apart, line_comment, own_name, own_size
from stepagents.schedules.parts import Blocks, TilePart, shape_of
from stepagents.schedules.programs import Tiled, program_spec
from stepagents.schedules.routed.costs import MixtureCosts
from stepagents.schedules.routed.experts import (
    ExpertBlock,
    tile_of,
    units_of,
)
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint, cut_of, operands_of, rows_body, rows_of_all
from stepagents.schedules.routed.regions import LOCALS, TF, ExpertRegion, RegionWriter
from stepagents.schedules.writer import tuple_text
from stepagents.traced.graph import size_text
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware

_FLAG: Final = Scalar("bool")


def written(
    traced: TracedFunction, plan: MixturePlan, point: MixturePoint, chip: Hardware, rows: Sequence[int]
) -> Tiled:
    """Return the program of a point. ``rows`` are those of each expert, by which its cost is told.

    Raises:
        NoSchedule: an operation has no form over tiles.
    """
    return _Writing(traced, plan, point, chip).program(rows)


class _Writing(RegionWriter):
    """One program in the making."""

    def program(self, rows: Sequence[int]) -> Tiled:
        """Return the program, with what it costs where experts have so many rows each."""
        plan, point = self._plan, self._point
        costs = MixtureCosts(plan, point, self._chip, rows)
        text = self._text(costs.speeds).replace(own_size(TF), "TF")
        own = {item.name for item in self._traced.inputs} | {*plan.bound, self._memory}
        text = kept_apart(text, LOCALS, own, self._taken)
        result = shape_of(plan.mixture.node)
        spec = program_spec(self._traced, text, self._fns, (self._memory, result), plan.bound, read=self._read)
        experts = plan.mixture.experts
        whole = {str(experts): plan.count} if experts.constant is None else {}
        cuts = [plan.cut, *map(cut_of, plan.always)]
        divisors = {**whole, **{str(cut): point.columns for cut in cuts if not cut.constant}}
        if self._last.constant is None:
            divisors[str(self._last)] = self._block
        again = -(-plan.rows.bind(plan.bound) // point.rows) if point.rows else 1
        return Tiled(spec, text, costs.costs, point.text, divisors, costs.costs.kept, least=whole, read_again=again)

    # -- the program -----------------------------------------------------------------------------------

    def _text(self, speeds: Sequence[int]) -> str:
        plan, count = self._plan, self._plan.count
        lines = [f"TF = {self._point.columns}", f"steps = {own_size(plan.cut)} // TF", *self._scored(speeds[0])]
        lines += [
            f"routes_out, routes_back = step.Copy(depth={self._rows}).apply(chosen)",
            f"routed = step.Partition(N={count}, depth={self._rows}).apply((tokens, routes_out))",
            "outs = []",
            *self._owned(),
            *line_comment(plan.mixture.terms[0].factors[0].node),
            *(self._alone(speeds) if self._point.shared == 1 else self._in_turn(speeds)),
            *self._always(speeds),
            *line_comment(plan.mixture.node),
            *self._weighed(),
        ]
        return "\n".join(lines)

    def _scored(self, speed: int) -> list[str]:
        """Write the rows, and for each row the experts that it goes to and what they count."""
        plan, router = self._plan, self._plan.router
        lines = line_comment(plan.mixture.choice.node)
        lines.append(f"blocks = {self._blocks_of(plan.taken)}")
        rest, scores = "blocks", ""
        if plan.scorer is not None and plan.scorer.takes is not None:
            given = "scored"
            if plan.scorer.takes.node is plan.taken.node:
                lines.append("scored, sent = step.Copy().apply(blocks)")
                rest = "sent"
            else:
                lines.append(f"scored = {self._blocks_of(plan.scorer.takes)}")
            scores = f"step.RetileStreamify(axis=0).apply({self._scores(plan.scorer, given, speed)})"
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
            ("chosen", "choose", Multihot(_FLAG, plan.count), router.chosen),
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
        tensors: list[str] = []
        for number, operands in enumerate(self._plan.operands):
            self._read |= {each.node.name for each in operands}
            if self._plan.places(operands) is None:
                tensors.append(f"weights_{number}[expert]")
                lines.append(f"weights_{number} = [{', '.join(own_name(each.node.name) for each in operands)}]")
            else:
                tensors.append(own_name(operands[0].node.name))
        in_turn = self._point.shared > 1
        self._region = ExpertRegion(
            self._plan.first, self._plan.operands, tuple(tensors), self._point.rows, in_turn=in_turn
        )
        return lines

    def _alone(self, speeds: Sequence[int]) -> list[str]:
        """Write regions of one expert each."""
        if self._point.rows:
            lines = [self._filled("expert"), "tile = step.Retile(axis=0).apply(data)"]
        else:
            lines = [_joined("routed[expert]")]
        lines += self._computed(self._region, speeds)
        if self._point.rows:
            lines += self._kept("made", "padding")
        else:
            lines.append(f"outs.append({self._taken_apart()})")
        return [f"for expert in range({self._plan.count}):", *(f"    {line}" for line in lines)]

    def _taken_apart(self) -> str:
        """Return the rows of the tiles that an expert gives, which wait for each other."""
        return f"step.RetileStreamify(axis=0, depth={self._rows}).apply(made)"

    def _always(self, speeds: Sequence[int]) -> list[str]:
        """Write the experts that every row goes to, each with units of its own."""
        lines = ["always = []"] if self._plan.always else []
        done, tall = 1 + units_of(self._plan.first), rows_of_all(self._plan, self._point)
        for number, expert in enumerate(self._plan.always):
            operands = tuple((each,) for each in operands_of(expert))
            self._read |= {each.node.name for (each,) in operands}
            tensors = tuple(own_name(each.node.name) for (each,) in operands)
            region = ExpertRegion(expert, operands, tensors, tall, "own_steps")
            rows = f"every[{number}]"
            lines += [
                f"own_steps = {own_size(cut_of(expert))} // TF",
                f"tile = step.Retile(axis=0).apply(step.Reshape(S={tall}, L=[0]).apply({rows}))"
                if tall
                else _joined(rows),
                *self._computed(region, [0, *speeds[done:]]),
                f"always.append({self._taken_apart()})",
            ]
            done += units_of(expert)
        return lines

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
        refs, count, regions = self._region.refs, point.shared, plan.count // point.shared
        steps = plan.cut // point.columns
        row, fills = Tile("fp32", (point.rows, shape_of(plan.taken.node)[-1])), Buffer(_FLAG, (point.rows,))
        pair = STuple((row, fills))
        rows = self._declare("rows_of", [pair], row, "return [input[0]]")
        padding = self._declare("padding_of", [pair], fills, "return [input[1]]")
        text = size_text(steps)
        numbers = [
            self._declare(
                f"numbers{number}", [Multihot(_FLAG, count)], Buffer(Scalar("int64"), (steps,)),
                f"first = torch.argmax(input[0].to(torch.int64)){f' + {number * count}' if number else ''}\n"
                f"return [first * ({text}) + torch.arange({text})]",
            )
            for number in range(regions)
        ]  # fmt: skip
        depth = f"depth={self._rows}"
        lines = [
            "pairs = []",
            f"for member in range({count}):",
            f"    {self._filled(f'region * {count} + member')}",
            "    tile = step.Retile(axis=0).apply(data)",
            "    pairs.append(step.Zip().apply((tile, step.Bufferize(a=1).apply(padding))))",
            "joined, which = step.EagerMerge().apply(pairs)",
            "joined_rows, joined_fills = step.Copy().apply(joined)",
            f"which_read, which_back, which_filled = step.Copy(n=3, {depth}).apply(which)",
            "given = step.Streamify().apply(step.Map(fn=numbers[region]).apply(which_read))",
            f"{', '.join(refs[:-1])} = step.Copy(n={len(refs) - 1}).apply(given)",
            f"{refs[-1]} = step.Map(fn={rows}).apply(joined_rows)",
            *self._computed(self._region, speeds),
            f"sorted_tiles = step.Partition(N={count}).apply((made, which_back))",
            f"paddings = step.Map(fn={padding}, {depth}).apply(joined_fills)",
            f"fills = step.Partition(N={count}, {depth}).apply((paddings, which_filled))",
            f"for member in range({count}):",
            *(f"    {line}" for line in self._kept("sorted_tiles[member]", "step.Streamify().apply(fills[member])")),
        ]
        own = f"numbers = [{', '.join(numbers)}]"
        return [own, f"for region in range({regions}):", *(f"    {line}" for line in lines)]

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
            "returned_to, returned = step.Copy().apply(step.Reassemble().apply((outs, routes_back)))",
            f"total = step.Accum(fn={weigh}, b=1, bw={2 * columns.bind(plan.bound)})"
            ".apply((returned, step.RepeatRef().apply((shares, returned_to))))",
            f"total = step.Map(fn={summed}).apply(total)",
            *self._with_always(row),
            *self._with_residual(row),
            f"step.LinearOffChipStore(tensor={self._memory}).apply(total)",
        ]

    def _with_always(self, row: Tile) -> list[str]:
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
        speed = len(types) * row.shape[1].bind(self._plan.bound)
        return [*lines, f"total = step.Map(fn={fn}, bw={speed}).apply({tuple_text(given)})"]

    def _gate(self, value: IndexedValue, name: str) -> list[str]:
        """Write how much an expert that every row goes to counts for each row."""
        rows = self._blocks_of(value, "gate")
        return [*line_comment(value.node), f"{name} = step.RetileStreamify(axis=0).apply({rows})"]

    def _with_residual(self, row: Tile) -> list[str]:
        residual = self._plan.residual
        if residual is None:
            return []
        types = [*map(self._row_tile, residual.inputs), row]
        fn = self._declare("with_residual", types, row, residual.body)
        given = tuple_text([*map(self._row_load, residual.inputs), "total"])
        return [f"total = step.Map(fn={fn}, bw={len(types) * row.shape[1].bind(self._plan.bound)}).apply({given})"]


def _joined(rows: str, tall: int = 0) -> str:
    """Return the line that makes tiles of ``tall`` rows of a stream each, or one of all of them."""
    shaped = f"step.Reshape(S={tall}, L=[0])" if tall else "step.Promote(b=1)"
    return f"tile = step.Retile(axis=0).apply({shaped}.apply({rows}))"
