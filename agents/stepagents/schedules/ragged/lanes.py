"""Attention over caches of different lengths as a program: a cache is read tile by tile, requests are dealt to lanes.

*Coarse* lanes have a block of requests each, *interleaved* ones every so many-th request, *dynamic* ones take the next
request whenever they have room for one. *Longest* is the same with requests that are sorted on chip before. A request
is its number and the rows that it sees; its tiles are counted out by `step.count`: nothing behind them is read. Where
requests are few, each is cut into parts that several lanes take; what they give is joined by their largest scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.bodies import declared
from stepagents.schedules.costs import LoadCost, ScheduleCosts, UnitCost
from stepagents.schedules.naming import file_names, kept_apart, line_comment, own_name, own_size
from stepagents.schedules.parts import WHOLE, Blocks, NoSchedule, TilePart, shape_of
from stepagents.schedules.programs import Tiled, program_spec
from stepagents.schedules.ragged.attention import RaggedAttention
from stepagents.schedules.ragged.points import FREE, LanePoint
from stepagents.schedules.tile_ops import TileBody, factors
from stepagents.traced.graph import size_text
from stepcore.fn.decl import FnDecl
from stepcore.graph.ir import Port
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Element, Scalar, StreamType, STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware

_I64: Final = Scalar("int64")
_LOCALS: Final = (
    "requests", "queries", "lanes", "lane_of", "dealt", "outs", "query", "rest", "weighed", "scored", "folded",
    "lane", "TR", "of_tiles", "of_rows", "counts", "counted", "counted_to", "counted_at", "counted_left", "of_keys",
    "of_left", "key_places", "value_places", "keys_to", "keys_read", "every", "ordered", "lengths_ordered",
    "lengths_sorted", "order_in", "order_read", "order_out", "lanes_out", "lanes_back",
)  # fmt: skip
_LEAST: Final = 4  # tiles of a cache, at the smallest sizes that a program is verified at
_ONLINE: Final = """\
top = torch.maximum(state[0], torch.amax(input[0], 1, keepdim=True))
old, p = torch.exp(state[0] - top), torch.exp(input[0] - top)
return [top, state[1] * old + torch.sum(p, 1, keepdim=True), state[2] * old + p @ {values}]"""
# What two parts of a request give as one; a part without tiles has no largest score.
_JOINED: Final = """\
top = torch.maximum(state[0], input[0])
old = torch.where(state[0] < top, torch.exp(state[0] - top), 1)
new = torch.where(input[0] < top, torch.exp(input[0] - top), 1)
return [top, state[1] * old + input[1] * new, state[2] * old + input[2] * new]"""


class LaneWriter:
    """Writes programs for one function: ``requests`` pieces of work, ``most`` rows of a cache, ``bound`` all sizes."""

    def __init__(self, traced: TracedFunction, plan: RaggedAttention, bound: Mapping[str, int]) -> None:
        self.traced = traced
        self.plan = plan
        self.bound = bound
        self.result: Node = next(node for node in traced.graph.graph.nodes if node.name == traced.outputs[0].node)
        self.requests = prod(size.bind(bound) for size in plan.outer)
        self.most = plan.most.bind(bound)

    def written(self, point: LanePoint, chip: Hardware, total: int) -> Tiled:
        """Return the program of a point, in which all caches together have ``total`` tiles.

        Raises:
            NoSchedule: tiles or lanes do not divide the sizes, or an operation has no tiles.
        """
        pieces = self.plan.requests.bind(self.bound) * point.parts
        if self.most % point.rows or (point.dealing == "coarse" and pieces % point.lanes):
            raise NoSchedule("tiles or lanes do not divide its sizes")
        writing = _Writing(self, point, chip)
        text = writing.text(total)
        divisors = {str(self.plan.most): point.rows} if self.plan.most.constant is None else {}
        if point.dealing == "coarse" and self.plan.requests.constant is None:
            divisors[str(self.plan.requests)] = point.lanes // gcd(point.lanes, point.parts)
        lengths = Port(self.plan.lengths.name, StreamType(_I64, self.plan.lengths.dims), None, 1, self.most)
        spec = program_spec(
            self.traced, text, writing.fns, (writing.memory, shape_of(self.result)), self.bound, (lengths,)
        )
        least = {str(self.plan.most): min(_LEAST * point.rows, self.most)}
        return Tiled(
            spec, text, writing.costs, point.text, divisors, writing.estimated,
            least=least, bounded={self.plan.lengths.name: self.plan.most},
        )  # fmt: skip


class _Writing:
    """One program in the making."""

    def __init__(self, writer: LaneWriter, point: LanePoint, chip: Hardware) -> None:
        self._writer = writer
        self._plan = writer.plan
        self._point = point
        self._chip = chip
        own = {"input", "state", "top", "old", "p", *_LOCALS}
        self.taken = own | file_names(writer.traced, writer.bound)
        self.memory = fresh_name("result", self.taken)
        self.fns: list[FnDecl] = []
        self.costs = ScheduleCosts()
        self.estimated = 0
        self._blocks = Blocks({"b": Dim.of(1), "f": Dim.of(point.rows)}, writer.bound)

    # -- element functions ---------------------------------------------------------------------------

    def _scores(self) -> tuple[str, TilePart, TilePart, Tile]:
        """Declare what scores a tile of keys; return its name, the parts that it reads, and the tile of scores."""
        rank = len(shape_of(self._plan.scores))
        part = TilePart(self._plan.scores, ("b",) * (rank - 2) + (WHOLE, "f"))
        body = TileBody(self._blocks)
        value = body.of(part)
        caches = [each for each in body.inputs if "f" in each.labels]
        queries = [each for each in body.inputs if "f" not in each.labels]
        if len(caches) != 1 or len(queries) != 1:
            raise NoSchedule("its scores are not computed from one query and one cache for each request", part.node)
        for each in (*caches, *queries):
            self._own(each)
        left = f"input[{len(body.inputs)}]"
        seen = f"torch.where(torch.arange({self._point.rows}) < {left}, {value}, -torch.inf)"
        types = [self._tile(each) for each in body.inputs]
        tile = self._tile(part)
        text = "\n".join([*body.lines, f"return [{seen}]"])
        self._in_order = [each is caches[0] for each in body.inputs]
        name = self._declare("scores", STuple((*types, _I64)), tile, text)
        self._unit(body.flops + 2 * prod(self._blocks.numbers(part)), [caches[0]])
        return name, queries[0], caches[0], tile

    def _values(self, scores: Tile) -> tuple[str, TilePart, STuple, Tile]:
        """Declare the online fold; return its name, the part that it reads, its state, and the tile of a result."""
        product = TilePart(self._plan.product, ("b",) * (len(shape_of(self._plan.product)) - 2) + (WHOLE, WHOLE))
        body = TileBody(self._blocks)
        text = body.of(factors(TilePart(product.node, product.labels, bare=True), "f")[1])
        if len(body.inputs) != 1 or body.lines or body.inputs[0].labels.count("f") != 1:
            raise NoSchedule("the values that it weighs are computed, and no cache that is passed", product.node)
        (cache,) = body.inputs
        self._own(cache)
        column, tile = Tile("fp32", (scores.shape[0], Dim.of(1))), self._tile(product)
        state = STuple((column, column, tile))
        values = text.replace("input[0]", "input[1]")
        name = self._declare(
            "online", STuple((scores, self._tile(cache))), state, _ONLINE.format(values=values), (float("-inf"), 0, 0)
        )
        rows, columns = self._blocks.numbers(product)
        self._unit(2 * rows * columns * self._point.rows + 8 * rows * self._point.rows + 2 * rows * columns, [cache])
        return name, cache, state, tile

    def _own(self, part: TilePart) -> None:
        """Raise where the tiles of a request do not follow one another in what it reads."""
        outer = [size for size, label in zip(shape_of(part.node), part.labels, strict=True) if label == "b"]
        if prod(outer, start=Dim.of(1)) != prod(self._plan.outer, start=Dim.of(1)):
            raise NoSchedule("it is shared by several requests or heads", part.node)
        if any(label == "b" for label in part.labels[len(outer) :]):
            raise NoSchedule("the rows of a request do not follow one another", part.node)

    def _declare(
        self, name: str, given: Element, output: Element, body: str, init: tuple[float, ...] | None = None
    ) -> str:
        name = fresh_name(name, self.taken)
        self.fns.append(declared(name, given, output, body, init))
        return name

    def _unit(self, flops: int, reads: Sequence[TilePart]) -> None:
        sizes = tuple(4 * prod(self._blocks.numbers(each)) for each in reads)
        self.costs.units.append(UnitCost(self._point.lanes, self._calls, flops, sizes))

    def _tile(self, part: TilePart) -> Tile:
        return Tile("fp32", self._blocks.tile(part))

    # -- the program -----------------------------------------------------------------------------------

    def text(self, total: int) -> str:
        """Return the program."""
        point, plan = self._point, self._plan
        self._calls = -(-total // point.lanes)
        rows, most = point.rows, size_text(plan.most)
        pair, three = STuple((_I64, _I64)), STuple((_I64, _I64, _I64))
        count = f"torch.clamp((input[1] + {rows - 1}) // {rows}, 0, {most} // {rows})"
        tiles = self._declare("tiles", pair, _I64, f"return [{count}]")
        place = "input[0]" if point.parts > 1 else f"input[0] * ({most} // {rows})"
        address = self._declare("address", three, _I64, f"return [{place} + input[2]]")
        left = self._declare("left", three, _I64, f"return [input[1] - {rows} * input[2]]")
        scores, query, keys, tile = self._scores()
        online, values, state, out = self._values(tile)
        self._check_result(out)
        empty = "torch.where(input[1] > 0, input[2] / input[1], 0)" if plan.is_safe else "input[2] / input[1]"
        finish = self._declare("finish", state, out, f"return [{empty}]")
        self._account(query, keys, values, out)
        dispatch = self._port()
        speeds = self.costs.speeds()
        requests = prod(plan.outer, start=Dim.of(1))
        pieces, wanted = own_size(requests * point.parts), own_size(requests)
        lane = [
            "of_tiles, of_rows = step.Copy().apply({request})",
            f"counts = step.Map(fn={tiles}).apply(of_tiles)",
            "counted = step.FlatMap(fn=step.count).apply(step.Promote(b=0).apply(counts))",
            "counted_to, counted_at, counted_left = step.Copy(n=3).apply(counted)",
            "of_keys, of_left = step.Copy().apply(step.RepeatRef().apply((of_rows, counted_to)))",
            f"key_places, value_places = step.Copy().apply(step.Map(fn={address}).apply((of_keys, counted_at)))",
            f"keys_to, keys_read = step.Copy().apply({self._random(keys, dispatch)}.apply(key_places))",
            "query = step.RepeatRef().apply(({query}, keys_to))",
            f"rest = step.Map(fn={left}).apply((of_left, counted_left))",
            f"scored = step.Map(fn={scores}, bw={speeds[0]}).apply(({self._order('query', 'keys_read')}, rest))",
            f"weighed = {self._random(values, dispatch)}.apply(value_places)",
            f"folded = step.Accum(fn={online}, b=1, bw={speeds[1]}).apply((scored, weighed))",
            f"{{out}}step.Map(fn={finish}{{depth}}).apply(folded)",
        ]
        ending = ["{results}"]
        if point.parts > 1:
            lane[-2:] = [f"{{out}}step.Accum(fn={online}, b=1, bw={speeds[1]}{{depth}}).apply((scored, weighed))"]
            joined = self._declare("joined", state, state, _JOINED, (float("-inf"), 0, 0))
            ending = [
                f"folded = step.Reshape(S={point.parts}, L=[0]).apply({{results}})",
                f"step.Map(fn={finish}).apply(step.Accum(fn={joined}, b=1, bw={speeds[2]}).apply(folded))",
            ]
        lines = ["TR = " + str(rows), "# a request is its number and the rows that it sees"]
        lengths = own_name(plan.lengths.name)
        if plan.heads != 1:
            lines.append(
                f"requests = step.Flatten(L=[1]).apply(step.Repeat(n={own_size(plan.heads)}).apply({lengths}))"
            )
            lengths = "requests"
        lines += (self._sorted if point.dealing == "longest" else self._numbered)(lengths, wanted, query)
        if point.parts > 1:
            lines += self._cut(count, most)
        lines += self._dealt(pieces, lane, ending)
        return self._named("\n".join(lines))

    def _numbered(self, lengths: str, requests: str, query: TilePart) -> list[str]:
        """Return the lines of requests and queries in the order in which they come."""
        more = f" + {self._plan.more}" if self._plan.more else ""
        body = f"return [state[0] + 1, input[0]{more}]"
        numbered = self._declare("numbered", _I64, STuple((_I64, _I64)), body, (-1, 0))
        tile = f"tile=[{query_tile(self._tile(query))}], shape=[{requests}], stride=[1]{self._port()}"
        return [
            f"requests = step.Scan(fn={numbered}, b=1).apply(step.Promote(b=1).apply({lengths}))",
            "requests = step.Flatten(L=[1]).apply(requests)",
            f"queries = step.LinearOffChipLoad(tensor={own_name(query.node.name)}, {tile}).apply()",
        ]

    def _sorted(self, lengths: str, requests: str, query: TilePart) -> list[str]:
        """Return the lines of requests and queries, the longest first."""
        more = f" + {self._plan.more}" if self._plan.more else ""
        numbers = Buffer(_I64, (prod(self._plan.outer, start=Dim.of(1)),))
        order = "torch.argsort(input[0], descending=True, stable=True)"
        order = self._declare("order", numbers, numbers, f"return [{order}]")
        seen = self._declare("seen", numbers, numbers, f"return [torch.sort(input[0], descending=True).values{more}]")
        tile = f"tile=[{query_tile(self._tile(query))}]{self._port()}"
        return [
            "# the longest first: who begins it last waits for it alone",
            f"every = step.Bufferize(a=1).apply(step.Promote(b=1).apply({lengths}))",
            "lengths_ordered, lengths_sorted = step.Copy().apply(every)",
            f"ordered = step.FlatMap(fn={order}).apply(lengths_ordered)",
            f"order_in, order_read, order_out = step.Copy(n=3, depth={requests}).apply(ordered)",
            f"requests = step.Zip().apply((order_in, step.FlatMap(fn={seen}).apply(lengths_sorted)))",
            f"queries = step.RandomOffChipLoad(tensor={own_name(query.node.name)}, {tile}).apply(order_read)",
        ]

    def _cut(self, tiles: str, most: str) -> list[str]:
        """Return the lines that make pieces of requests: the number of their first tile, and the rows from there."""
        parts, rows = self._point.parts, self._point.rows
        pair, three = STuple((_I64, _I64)), STuple((_I64, _I64, _I64))
        numbered = self._declare("part", pair, three, "return [input[0], input[1], state[2] + 1]", (0, 0, -1))
        body = "\n".join(
            [
                f"tiles = {tiles}",
                f"first, last = input[2] * tiles // {parts}, (input[2] + 1) * tiles // {parts}",
                f"ends = torch.minimum(input[1], last * {rows})",
                f"return [input[0] * ({most} // {rows}) + first, ends - first * {rows}]",
            ]
        )
        piece = self._declare("piece", three, pair, body)
        return [
            f"# each in {parts} parts: the number of the first tile of one, and the rows from there",
            f"requests = step.Scan(fn={numbered}, b=1).apply(step.Repeat(n={parts}).apply(requests))",
            f"requests = step.Map(fn={piece}).apply(step.Flatten(L=[1]).apply(requests))",
            f"queries = step.Flatten(L=[1]).apply(step.Repeat(n={parts}).apply(queries))",
        ]

    def _named(self, text: str) -> str:
        """Return the program with streams that are not called like what the user passes, or a size."""
        own = {item.name for item in self._writer.traced.inputs} | {*self._writer.bound, self.memory}
        return kept_apart(text, _LOCALS, own, self.taken)

    def _dealt(self, count: str, lane: Sequence[str], ending: Sequence[str]) -> list[str]:
        point = self._point
        said = line_comment(self._plan.product)
        kind, places = ("Random", "order_out") if point.dealing == "longest" else ("Linear", "")
        store = f"step.{kind}OffChipStore(tensor={self.memory}{self._port()})"
        if point.lanes == 1:
            body = [line.format(request="requests", query="queries", out="folded = ", depth="") for line in lane]
            return [*said, *body, *self._stored(store, "", ending, "folded")]
        lines: list[str] = []
        policy, depth, asked = '"free"', 1, "2"
        if point.dealing not in FREE:
            policy = '"round_robin"'
            asked = f"{count} // {point.lanes}" if point.dealing == "coarse" else f"-(-{count} // {point.lanes})"
        if point.dealing == "coarse":
            lines.append(f"requests = step.Reshape(S={asked}, L=[0]).apply(requests)")
            lines.append(f"queries = step.Reshape(S={asked}, L=[0]).apply(queries)")
        room = str(depth) if point.dealing in FREE else asked
        lines += [
            f"lanes, lane_of = step.Parallelize(N={point.lanes}, policy={policy}, depth={room}).apply(queries)",
            f"lanes_out, lanes_back = step.Copy(depth={count}).apply(lane_of)",
            f"dealt = step.Partition(N={point.lanes}, depth={asked}).apply((requests, lanes_out))",
            "outs = []",
            *said,
            f"for lane in range({point.lanes}):",
        ]
        for line in lane:
            text = line.format(request="dealt[lane]", query="lanes[lane]", out="outs.append(", depth=f", depth={count}")
            lines.append(f"    {text}{')' if line.startswith('{out}') else ''}")
        results = "step.Reassemble(onehot=True).apply((outs, lanes_back))"
        if point.parts > 1:
            results = f"step.Flatten(L={'[1, 2]' if point.dealing == 'coarse' else '[1]'}).apply({results})"
        return [*lines, *self._stored(store, places, ending, results)]

    def _stored(self, store: str, places: str, ending: Sequence[str], results: str) -> list[str]:
        *before, last = (line.format(results=results) for line in ending)
        return [*before, f"{store}.apply({f'({places}, {last})' if places else last})"]

    def _order(self, query: str, keys: str) -> str:
        return ", ".join(keys if is_cache else query for is_cache in self._in_order)

    def _random(self, part: TilePart, dispatch: str) -> str:
        sizes = [
            "TR" if label == "f" else own_size(size)
            for label, size in zip(part.matrix, self._blocks.tile(part), strict=True)
        ]
        return f"step.RandomOffChipLoad(tensor={own_name(part.node.name)}, tile=[{', '.join(sizes)}]{dispatch})"

    def _port(self) -> str:
        return "" if self._point.dispatch is None else f", dispatch={self._point.dispatch}"

    def _check_result(self, out: Tile) -> None:
        dims = shape_of(self._writer.result)
        if dims[-1] != out.shape[1] or (out.shape[0] != 1 and dims[-2] != out.shape[0]):
            raise NoSchedule("its result has the rows of a request side by side", self._writer.result)

    def _account(self, query: TilePart, keys: TilePart, values: TilePart, out: Tile) -> None:
        point, burst = self._point, self._chip.memory.burst

        def bursts(part: TilePart) -> int:
            rows, columns = self._blocks.numbers(part)
            return rows * -(-4 * columns // burst)

        requests = self._writer.requests
        rows, columns = (size.bind(self._writer.bound) for size in out.shape)
        self.costs.loads += [LoadCost(point.lanes, self._calls, bursts(each)) for each in (keys, values)]
        self.costs.loads.append(LoadCost(1, requests, bursts(query)))
        self.costs.stores.append(LoadCost(1, requests, rows * -(-4 * columns // burst)))
        self.costs.kept = 4 * rows * columns * point.lanes
        if point.parts > 1:
            self.costs.units.append(UnitCost(1, requests * point.parts, 2 * rows * (columns + 8)))
        self.estimated = self.costs.kept + 2 * burst * sum(each.ports * each.bursts for each in self.costs.loads)


def query_tile(tile: Tile) -> str:
    """Return the sizes of a tile as text."""
    return ", ".join(map(own_size, tile.shape))
