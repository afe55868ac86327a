"""What a program keeps on a chip, in bytes: the metrics of the language page at the sizes that were timed.

Loads, stores, buffers, accumulators and matrix products count, and parameters that functions read, which stay there.
FIFOs, with the depths that the program or the chip gives them, are reported beside these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from stepcore.costs.metrics import measure
from stepcore.cycles.program_network import ProgramNetwork
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.types import element_bytes


@dataclass(frozen=True, slots=True)
class KeptOnChip:
    """Bytes on a chip: of operators by their nodes, of loads and stores, of parameters; and of FIFOs, beside them.

    ``unknown`` are nodes whose memory nobody knows: they count nothing.
    """

    nodes: Mapping[int, int]
    ends: int
    parameters: int
    fifos: int
    unknown: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        """All that has to fit on the chip, FIFOs left out."""
        return sum(self.nodes.values()) + self.ends + self.parameters


def kept_on_chip(spec: ProgramSpec, graph: TypedGraph, program: ProgramNetwork) -> KeptOnChip:
    """Return what a timed program keeps on its chip."""
    sizes = program.sizes
    metrics = measure(spec, graph, sizes)
    known = {node.index: node.on_chip.value for node in metrics.nodes}
    ends = [graph.streams[index].type.element for index in (*graph.inputs, *graph.returns)]
    return KeptOnChip(
        {index: size or 0 for index, size in known.items()},
        sum(2 * element_bytes(element).bind(sizes) for element in ends),
        program.kept,
        sum(
            program.network.channels[channel].depth * element_bytes(graph.streams[index].type.element).bind(sizes)
            for channel, index in program.streams.items()
        ),
        tuple(index for index, size in known.items() if size is None),
    )
