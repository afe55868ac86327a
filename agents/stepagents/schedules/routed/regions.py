"""What experts compute of the tiles of their rows, as the lines and the element functions of a program. No torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.bodies import declared
from stepagents.schedules.costs import alone_dispatch
from stepagents.schedules.naming import file_names, own_name, own_size
from stepagents.schedules.parts import shape_of
from stepagents.schedules.routed.experts import FOLDED, Expert, ExpertTensor, down_tile, product, tile_of
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint, scored_at_once
from stepagents.schedules.writer import tuple_text
from stepcore.fn.decl import FnDecl
from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.sizes.kinds import any_size
from stepcore.types import Element, STuple, Tile

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware

_NUMBERED: Final = (
    "choice_rows", "share_rows", "weights", "read", "repeated", "partial", "gate", "lane_of", "dealt",
)  # fmt: skip
LOCALS: Final = (
    "blocks", "tokens", "chosen", "shares", "routed", "outs", "tile", "data", "padding", "given",
    "always", "every", "flags", "kept", "pairs", "joined", "which", "numbers", "paddings", "fills", "inner", "made",
    "total", "TF", "steps", "own_steps", "expert", "member", "region", "scored", "sent", "routes_out", "routes_back",
    "choice_scores", "share_scores", "expert_rows", "joined_rows", "joined_fills", "which_read", "which_back",
    "which_filled", "sorted_tiles", "returned_to", "returned", "lane", "lanes", "lane_of", "pieces", "done",
    *(f"{name}_{number}" for name in _NUMBERED for number in range(10)),
)  # fmt: skip

TF: Final = Dim.symbol("columns of a tile of weights")  # how many these are: no name that a user could give


class ExpertRegion(Record):
    """The units of experts: ``tensors`` is how each of their ``operands`` is written.

    ``tall`` are the rows of a tile (0: all), ``steps`` is the name of how many tiles of columns there are. ``in_turn``:
    weights are read by their number, as tiles of several experts come.
    """

    expert: Expert
    operands: tuple[tuple[ExpertTensor, ...], ...]
    tensors: tuple[str, ...]
    tall: int
    steps: str = "steps"
    in_turn: bool = False

    @property
    def refs(self) -> list[str]:
        """The streams for which a tile of each tensor is read, and that of the rows."""
        return [*(f"read_{number}" for number in range(len(self.operands))), "expert_rows"]


class RegionWriter:
    """A program in the making: its element functions, what it reads, and the regions of its experts."""

    def __init__(self, traced: TracedFunction, plan: MixturePlan, point: MixturePoint, chip: Hardware) -> None:
        self._traced = traced
        self._plan = plan
        self._point = point
        self._chip = chip
        self._taken = {"input", "state", *LOCALS, *file_names(traced, plan.bound)}
        self._memory = fresh_name("result", self._taken)
        self._fns: list[FnDecl] = []
        self._read: set[str] = set()
        self._real = ""
        self._last = plan.mixture.rows[-1].size if plan.mixture.rows else Dim.of(1)
        self._block = scored_at_once(plan)
        self._rows = own_size(plan.rows)
        peak = alone_dispatch(chip)
        self._whole_port = f"dispatch={peak}" if peak > chip.memory.dispatch else ""

    def _declare(
        self, name: str, given: Sequence[Element], output: Element, body: str, init: tuple[float, ...] | None = None
    ) -> str:
        """Declare a function, or find the one that says the same; return its name."""
        taken = given[0] if len(given) == 1 else STuple(given)  # type: ignore[arg-type]
        for fn in self._fns:
            if (fn.input, fn.output, fn.init, fn.body.source.text) == (taken, output, init, body):
                return fn.func_name
        name = fresh_name(name, self._taken)
        self._fns.append(declared(name, taken, output, body, init))
        return name

    def _load(self, node: Node, tile: Sequence[Dim], more: str = "", tensor: str = "", ref: str = "") -> str:
        """Return the load of a tensor: in the order that ``more`` says, else of the tiles whose numbers ``ref`` has.

        Where nothing is waited for, no expert works beside it: its port may ask for all that the memory gives.
        """
        self._read.add(node.name)
        shared = "" if self._point.dispatch is None else f"dispatch={self._point.dispatch}"
        port = shared if ref else self._whole_port
        named = f"tensor={tensor or own_name(node.name)}", f"tile=[{', '.join(map(own_size, tile))}]", more, port
        operator = "LinearOffChipLoad" if more else "RandomOffChipLoad"
        return f"step.{operator}({', '.join(filter(None, named))}).apply({ref})"

    def _computed(self, region: ExpertRegion, speeds: Sequence[int]) -> list[str]:
        """Write what an expert computes of its tiles."""
        plan, expert = self._plan, region.expert
        rows = Dim.of(region.tall) if region.tall else any_size("R")
        width, columns = shape_of(plan.taken.node)[-1], Dim.of(self._point.columns)
        block = expert.hidden or expert.outer
        refs = region.refs
        lines = [] if region.in_turn else [f"{', '.join(refs)} = step.Copy(n={len(refs)}).apply(tile)"]
        tiles = [tile_of(each, columns) for each in block.operands]
        loads = [self._tile_load(region, number, tile_of(each, TF)) for number, each in enumerate(block.operands)]
        taken, first = Tile("fp32", (rows, width)), Tile("fp32", (rows, columns))
        count = len(block.products)
        repeated = [f"repeated_{number}" for number in range(count)]
        text = f"step.Repeat(n={region.steps}).apply({refs[-1]})"
        lines.append(f"{', '.join(repeated)} = {text if count == 1 else f'step.Copy(n={count}).apply({text})'}")
        names: dict[str, str] = {}
        given, types = [repeated[-1], loads[count - 1]], [taken, Tile("fp32", tiles[count - 1])]
        for number, (name, operand) in enumerate(block.products[:-1]):
            body = f"return [{product(1, turned=operand.turned)}]"
            fn = self._declare("product", [taken, Tile("fp32", tiles[number])], first, body)
            read = f"({repeated[number]}, {loads[number]})"
            lines.append(f"partial_{number} = step.Map(fn={fn}, bw={speeds[1 + number]}).apply({read})")
            names[name] = f"input[{len(given)}]"
            given.append(f"partial_{number}")
            types.append(first)
        for number, (name, _) in enumerate(block.vectors, count):
            names[name] = f"input[{len(given)}]"
            given.append(loads[number])
            types.append(Tile("fp32", tiles[number]))
        body = block.body(names, [(block.products[-1][0], 1)])
        fn = self._declare("columns_of" if expert.hidden is None else "hidden", types, first, body)
        lines.append(f"inner = step.Map(fn={fn}, bw={speeds[count]}).apply({tuple_text(given)})")
        if expert.down is None:
            return [*lines, "made = step.Retile(axis=1).apply(inner)"]
        number = len(block.operands)
        whole = Tile("fp32", (rows, expert.outer.columns))
        down = expert.down
        tile = down_tile(down, columns, expert.outer.columns)
        body = f"return [state[0] + {product(1, turned=down.turned)}]"
        fn = self._declare("down", [first, Tile("fp32", tile)], whole, body, (0,))
        load = self._tile_load(region, number, down_tile(down, TF, expert.outer.columns))
        lines.append(f"made = step.Accum(fn={fn}, b=1, bw={speeds[-1]}).apply((inner, {load}))")
        return [*lines, *self._finished(region, whole, number + 1)]

    def _finished(self, region: ExpertRegion, whole: Tile, first: int) -> list[str]:
        """Write what is computed behind the last product."""
        outer = region.expert.outer
        if outer.is_folded:
            return []
        tiles = [tile_of(each, outer.columns) for each in outer.operands]
        given = ["made"]
        names = {name: f"input[{place}]" for place, (name, _) in enumerate(outer.vectors, 1)} | {FOLDED: "input[0]"}
        for number, tile in enumerate(tiles, start=first):
            given.append(f"step.Flatten(L=[1]).apply({self._tile_load(region, number, tile, '1')})")
        fn = self._declare("finish", [whole, *(Tile("fp32", tile) for tile in tiles)], whole, outer.body(names))
        return [f"made = step.Map(fn={fn}).apply({tuple_text(given)})"]

    def _tile_load(self, region: ExpertRegion, number: int, tile: Sequence[Dim], count: str = "") -> str:
        operands, tensor, ref = region.operands[number], region.tensors[number], region.refs[number]
        if region.in_turn:
            return self._load(operands[0].node, tile, "", tensor, ref)
        count, base = count or region.steps, ""
        if self._plan.places(operands):
            base = ", base=expert" if count == "1" else f", base=expert * {count}"
        return self._load(operands[0].node, tile, f"shape=[{count}], stride=[1]{base}", tensor, ref)
