"""Metrics of a program: bytes of streams, off-chip traffic, on-chip memory, streaming degree. No torch here.

Definitions are those of the language page; sizes stay symbolic until they are bound. What the types alone do not
tell (matrix products inside functions, the number of operations) is added by whoever runs the program.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from stepcore.dim import Dim, DimError, product
from stepcore.ir import Graph, Node, ProgramSpec
from stepcore.types import StreamType, element_bytes

# The streaming degree is about large problems: every size that the program leaves open counts at least this much.
LEAST_SIZE: Final = 64
_HELD: Final = ("Bufferize", "Accum", "Scan", "Merge")


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of bytes as an expression, and its value under the bindings (None while a size is open)."""

    symbolic: Dim
    bound: int | None

    def json(self) -> dict[str, str | int | None]:
        """Return plain data."""
        return {"symbolic": str(self.symbolic), "bound": self.bound}


def amount(size: Dim, bindings: Mapping[str, int]) -> Amount:
    """Return ``size`` with its bound value."""
    try:
        return Amount(size, size.bind(bindings))
    except DimError:
        return Amount(size, None)


def stream_bytes(stream: StreamType) -> Dim:
    """Return ``||stream|| * |T|``."""
    return product(stream.shape) * element_bytes(stream.element)


def off_chip_bytes(spec: ProgramSpec, graph: Graph) -> Dim:
    """Return the traffic in bytes: inputs and parameters once each, and what is returned."""
    loads = [port.type for port in (*spec.inputs, *spec.parameters)]
    return _total(stream_bytes(stream) for stream in (*loads, *_types(graph, graph.returns)))


def on_chip_bytes(graph: Graph, node: Node) -> Dim:
    """Return the on-chip memory of one unit in bytes, matrix products inside its function left out."""
    if node.op is None:
        return Dim.of(0)
    return node.op.on_chip_bytes(_types(graph, node.inputs), _types(graph, node.outputs))


def transfer_bytes(spec: ProgramSpec, graph: Graph) -> Dim:
    """Return the on-chip memory of the units that load inputs and store outputs: two elements each."""
    streams = [*(port.type for port in spec.inputs), *_types(graph, graph.returns)]
    return _total(2 * element_bytes(stream.element) for stream in streams)


def streaming_degree(spec: ProgramSpec, graph: Graph) -> float | None:
    """Return 1 - held bytes / bytes of all inputs and outputs, clipped to 0..1; None while a size is open.

    Sizes that the file does not fix are bound to at least 64.
    """
    bindings = {name: max(size, LEAST_SIZE) for name, size in spec.bindings().items()} | dict(spec.fixed)
    held = _total(on_chip_bytes(graph, node) for node in graph.nodes if node.op_name in _HELD)
    moved = _total(stream_bytes(s) for s in (*(p.type for p in spec.inputs), *_types(graph, graph.returns)))
    above, below = amount(held, bindings).bound, amount(moved, bindings).bound
    if above is None or not below:
        return None
    return min(max(1 - above / below, 0.0), 1.0)


def _types(graph: Graph, indices: Iterable[int]) -> list[StreamType]:
    return [stream for index in indices if (stream := graph.streams[index].type) is not None]


def _total(sizes: Iterable[Dim]) -> Dim:
    total = Dim.of(0)
    for size in sizes:
        total = total + size
    return total
