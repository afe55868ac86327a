"""What the data of a run decide and timing follows: the branches of selectors, the lengths of lists, sizes."""

from __future__ import annotations

from math import prod

from stepcore.cycles.routes import MOST_ROWS, ProgramRoutes, Rows, selectors_of
from stepcore.graph.typed import TypedGraph
from stepcore.sim.data import TensorData
from stepcore.sim.functional import Run
from stepcore.sim.lengths import levels_of, positions
from stepcore.sim.ragged import RaggedData
from stepcore.sim.routes import rows_of


def decided_by_data(graph: TypedGraph, run: Run) -> ProgramRoutes | None:
    """Return what a run of ``graph`` that kept its streams decided; None where that is longer than timing follows."""
    rows: dict[int, Rows] = {}
    for index in selectors_of(graph):
        data = run.streams[index]
        if not isinstance(data, TensorData) or prod(data.sizes) > MOST_ROWS:
            return None
        rows[index] = rows_of(data)
    ragged = {index: data for index, data in enumerate(run.streams) if isinstance(data, RaggedData)}
    if sum(positions(data.sizes) for data in ragged.values()) > MOST_ROWS:
        return None
    levels = {index: levels_of(data.sizes) for index, data in ragged.items()}
    return ProgramRoutes("run", rows, levels, run.measured_sizes(graph))
