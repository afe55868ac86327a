"""Rows: every block of the result is one call of an element function, in lanes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepagents.schedules.forms import Scheduled, store, unit_of
from stepagents.schedules.parts import shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import LEAST_LANES, MOST_LANES, TALLEST, Schedule, ScheduleForm, SizedFunction, rows_of
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer import ProgramLane, Writer, tuple_text
from stepcore.sizes.dim import product

_LARGEST: Final = 1 << 20  # elements of a tile


class RowsForm(ScheduleForm):
    """Maps over blocks of the result, of whole rows or of columns."""

    name = "rows"

    def takes(self, function: SizedFunction) -> bool:
        """Whether its result has dimensions."""
        return bool(function.dims)

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield tiles of rows in lanes, then of matrices where there are several, then those of columns."""
        dims = function.dims
        for lane, own in function.lanes_of_rows(dims):
            for tile in divisors(own, 1, TALLEST):
                yield Schedule(self.name, {"r": tile}, (lane,))
        yield from self._of_matrices(function)
        rows = function.size(rows_of(dims))
        if max(divisors(rows, 1, MOST_LANES)) < LEAST_LANES:  # lanes that do not divide the rows
            for tile in divisors(rows, 1, TALLEST):
                for count in (LEAST_LANES, 2 * LEAST_LANES, 4 * LEAST_LANES):
                    yield Schedule(self.name, {"r": tile}, (ProgramLane("r", count),))
        if len(dims) > 1 and dims[-2] != 1:
            columns = function.size(dims[-1])
            for across in divisors(columns, 1, MOST_LANES):
                for wide in divisors(columns // across, 16, 1024):
                    yield Schedule(self.name, {"c": wide}, (ProgramLane("c", across),))

    def _of_matrices(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield whole matrices, those of outer dimensions in lanes, or a number for each of them."""
        dims = function.dims
        if len(dims) > 2 and function.size(product(dims[-2:])) <= _LARGEST:  # whole matrices
            for count in divisors(function.size(product(dims[:-2])), 1, MOST_LANES):
                yield Schedule(self.name, {}, (ProgramLane("b", count),))
        elif len(dims) == 2 and any(len(shape_of(node)) > 2 for node in function.behind):  # a number for each matrix
            for own in divisors(function.size(dims[0]), 1, MOST_LANES):
                for across in divisors(function.size(dims[1]), 1, MOST_LANES // own):
                    yield Schedule(self.name, {"r": 1, "c": 1}, (ProgramLane("r", own), ProgramLane("c", across)))

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write the result as Maps over its blocks.

        Raises:
            NoSchedule: the operations do not allow for the blocks, or do not fit them.
        """
        writer.may_end = True
        body = TileBody(writer.blocks)
        result = body.of(plan.result)
        lanes = writer.live("b", "r", "c")
        writer.said(plan.result.node)
        streams = [writer.load(part, plan.outer, lanes) for part in body.inputs]
        unit = unit_of(writer, plan.outer, lanes, body, body.inputs, plan.result)
        call = writer.mapped("rows", body, plan.result, result, unit)
        store(writer, plan, f"{call}.apply({tuple_text([each.text() for each in streams])})", lanes)
