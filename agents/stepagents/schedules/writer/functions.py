"""Element functions of a program, each written once, and what their units cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from stepagents.lower.functions import fresh_name
from stepagents.schedules.bodies import declared
from stepagents.schedules.costs import UnitCost
from stepagents.schedules.parts import TilePart, scalar_of
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer.families import POSITION
from stepagents.schedules.writer.lanes import LoopWriter
from stepcore.types import DTYPE_BYTES, Element, Scalar, STuple, Tile

BW_MARK: Final = "bw=@"  # what stands for the FLOPs per cycle of a unit until all are known


@dataclass(slots=True)
class FunctionWriter(LoopWriter):
    """Declares functions over the tiles of parts."""

    def elements(self, part: TilePart) -> int:
        """Return the elements of a part's tile."""
        return prod(self.blocks.numbers(part))

    def tile_type(self, part: TilePart) -> Tile:
        """Return the tile of a part that is no position."""
        return Tile(scalar_of(part.node), self.blocks.tile(part))

    def element(self, part: TilePart) -> Tile | Scalar:
        """Return the element of a part's stream."""
        return POSITION if part.is_position else self.tile_type(part)

    def bytes_of(self, part: TilePart) -> int:
        """Return the bytes of a part's tile; none for a position."""
        return 0 if part.is_position else self.elements(part) * DTYPE_BYTES[scalar_of(part.node)]

    def function(
        self,
        name: str,
        inputs: Sequence[Tile | Scalar] | STuple,
        output: Element,
        body: str,
        unit: UnitCost,
        init: tuple[float, ...] | None = None,
    ) -> str:
        """Declare an element function, or find the one that says the same; return its name for a call, with ``bw``.

        ``unit`` is what one unit costs; units that share the function are counted together.
        """
        several = inputs if isinstance(inputs, STuple) else STuple(tuple(inputs))
        given: Element = several if len(several.items) > 1 else several.items[0]
        self.costs.units.append(unit)
        speed = f", {BW_MARK}{len(self.costs.units) - 1}@" if unit.flops else ""
        for fn in self.fns:
            if (fn.input, fn.output, fn.init) == (given, output, init) and fn.body.source.text == body:
                return f"fn={fn.func_name}{{}}{speed}"
        name = fresh_name(name, self.taken)
        self.fns.append(declared(name, given, output, body, init))
        return f"fn={name}{{}}{speed}"

    def mapped(self, name: str, body: TileBody, part: TilePart, result: str, unit: UnitCost) -> str:
        """Return the call of Map that computes ``part``."""
        types = [self.element(each) for each in body.inputs]
        return f"step.Map({self.function(name, types, self.tile_type(part), body.returning(result), unit).format('')})"
