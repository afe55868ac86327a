"""A mixture of experts as a program: rows are routed, those of an expert are tiles that its weights are read against.

*Dynamic* tiles have all rows of an expert, so that its weights are read once; *static* ones so many, and the last is
filled up. With static tiles several experts can share a region of units, which takes tiles as they come.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import TYPE_CHECKING

from stepagents.schedules.naming import kept_apart, line_comment, own_name, own_size
from stepagents.schedules.parts import shape_of
from stepagents.schedules.programs import Tiled, program_spec
from stepagents.schedules.routed.costs import MixtureCosts
from stepagents.schedules.routed.ends import FLAG, EndsWriter
from stepagents.schedules.routed.experts import units_of
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint, cut_of, operands_of, rows_of_all
from stepagents.schedules.routed.regions import LOCALS, TF, ExpertRegion
from stepagents.traced.graph import size_text
from stepcore.types import Buffer, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:
    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware


def written(
    traced: TracedFunction, plan: MixturePlan, point: MixturePoint, chip: Hardware, rows: Sequence[int]
) -> Tiled:
    """Return the program of a point. ``rows`` are those of each expert, by which its cost is told.

    Raises:
        NoSchedule: an operation has no form over tiles.
    """
    return _Writing(traced, plan, point, chip).program(rows)


class _Writing(EndsWriter):
    """One program in the making."""

    def program(self, rows: Sequence[int]) -> Tiled:
        """Return the program, with what it costs where experts have so many rows each."""
        plan, point = self._plan, self._point
        costs = MixtureCosts(plan, point, self._chip, rows)
        self._costs = costs
        text = self._text(costs.speeds).replace(own_size(TF), "TF")
        own = {item.name for item in self._traced.inputs} | {*plan.bound, self._memory}
        text = kept_apart(text, LOCALS, own, self._taken)
        result = shape_of(plan.mixture.node)
        spec = program_spec(self._traced, text, self._fns, (self._memory, result), plan.bound, read=self._read)
        experts = plan.mixture.experts
        whole = {str(experts): plan.count} if experts.constant is None else {}
        cuts = [plan.cut, *map(cut_of, plan.always)]
        divisors = {**whole, **{str(cut): point.columns for cut in cuts if not cut.constant}}
        if costs.scorer_lanes > 1 and (width := self._scored_width).constant is None:
            divisors[str(width)] = lcm(divisors.get(str(width), 1), costs.scorer_lanes)
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
            self._real = self._declare("is_real", [FLAG], Multihot(FLAG, 1), body)
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
        row, fills = Tile("fp32", (point.rows, shape_of(plan.taken.node)[-1])), Buffer(FLAG, (point.rows,))
        pair = STuple((row, fills))
        rows = self._declare("rows_of", [pair], row, "return [input[0]]")
        padding = self._declare("padding_of", [pair], fills, "return [input[1]]")
        text = size_text(steps)
        numbers = [
            self._declare(
                f"numbers{number}", [Multihot(FLAG, count)], Buffer(Scalar("int64"), (steps,)),
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


def _joined(rows: str, tall: int = 0) -> str:
    """Return the line that makes tiles of ``tall`` rows of a stream each, or one of all of them."""
    shaped = f"step.Reshape(S={tall}, L=[0])" if tall else "step.Promote(b=1)"
    return f"tile = step.Retile(axis=0).apply({shaped}.apply({rows}))"
