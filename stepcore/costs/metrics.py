"""Costs of a program, symbolic and under a binding of its sizes. No torch here.

The definitions are those of the language page ("Metrics"): off-chip traffic is what the inputs, the parameters (once)
and the outputs take; on-chip memory is what loads, stores, buffers, accumulators and matrix products keep; operational
intensity is FLOPs per byte of traffic. The streaming degree is 1 less the share that buffers and accumulators have in
the bytes of inputs and outputs, tensors that are loaded and stored among them, with every free size at least 64. It
divides by all streams that come in, so it says nothing about tensors that are streamed in again and again; compulsory
traffic does: each tensor that is an input or a parameter once, however many streams read it (see
:mod:`stepcore.graph.layouts`), what is read of it where that is less, and each output once. Tensors that nobody
provides (``arange``, ``ones``) are none.
Bytes and operations throughout; what is not known is None, never 0. Sizes that only a run knows (branches of
Partition) are symbols that start with ``?``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.fn.outside import names_read
from stepcore.fn.shapes.inference import FnCost, fn_cost
from stepcore.graph.evaluate import evaluate
from stepcore.graph.ir import ProgramSpec, whole_port
from stepcore.graph.layouts import GENERATED
from stepcore.graph.typed import TypedGraph, TypedNode, TypedStream
from stepcore.ops.base import FnLike
from stepcore.ops.pace import OffChipUse
from stepcore.records import Record
from stepcore.sizes.dim import Dim, DimError
from stepcore.types import DTYPE_BYTES, StreamType, components, dtype_of, element_bytes, element_count

# The streaming degree looks at programs in the large.
LEAST_SIZE: Final = 64


class Quantity(Record):
    """A number of bytes, elements or operations: as an expression, and its value where all sizes are bound."""

    symbolic: Dim | None
    value: int | None


class StreamMetrics(Record):
    """One stream: how many elements it carries, the bytes of one, and of all."""

    index: int
    name: str
    type: StreamType
    elements: Quantity
    element_bytes: Quantity
    bytes: Quantity


class NodeMetrics(Record):
    """One operator: on-chip memory in bytes, and floating-point operations over the whole run."""

    index: int
    operator: str
    on_chip: Quantity
    flops: Quantity


class Metrics(Record):
    """A program. ``on_chip`` includes its loads and stores; ``intensity`` is in FLOPs per byte.

    ``compulsory`` is the least off-chip traffic; ``traffic_ratio`` is how many times as much the program makes, at
    least 1, since of a parameter that tiles are loaded from a part may suffice. ``useful_flops`` leave out filling;
    None where nothing is filled up.
    """

    streams: tuple[StreamMetrics, ...]
    nodes: tuple[NodeMetrics, ...]
    off_chip: Quantity
    on_chip: Quantity
    flops: Quantity
    intensity: float | None
    streaming_degree: float | None
    compulsory: Quantity
    traffic_ratio: float | None
    useful_flops: int | None = None


def measure(
    spec: ProgramSpec,
    graph: TypedGraph,
    bindings: Mapping[str, int] | None = None,
    measured: Mapping[str, int] | None = None,
) -> Metrics:
    """Return the costs of ``graph``. ``bindings`` default to the specification's own, ``measured`` comes from a run.

    A run knows the sizes that the data decide, see :meth:`stepcore.sim.functional.Run.measured_sizes`.
    """
    sizes = {**(spec.bindings() if bindings is None else bindings), **(measured or {})}
    return _Meter(spec, graph, sizes).run()


def compulsory_traffic(spec: ProgramSpec, graph: TypedGraph, sizes: Mapping[str, int]) -> Quantity:
    """Return the bytes of the tensors behind the inputs, of parameters, and of outputs, each once.

    Of a tensor that streams read only a part of, such as one row, what they read is enough.
    """
    tensors = {port.name: _stream_bytes(port.type) for port in spec.parameters}
    read: dict[str, Dim] = {}
    for port in spec.inputs:
        if port.layout is None:
            tensors.setdefault(port.name, _stream_bytes(port.type))
        elif (source := port.layout.source) not in GENERATED:
            tensors.setdefault(source, _stream_bytes(whole_port(port, port.layout).type))
            read[source] = read.get(source, Dim.of(0)) + _stream_bytes(port.type)
    needed = (_lesser(whole, read.get(name, whole), sizes) for name, whole in tensors.items())
    results = (_stream_bytes(graph.streams[index].type) for index in graph.returns)
    size = sum((*needed, *results), Dim.of(0))
    return Quantity(size, _value(size, sizes))


def _lesser(whole: Dim, part: Dim, sizes: Mapping[str, int]) -> Dim:
    """Return which of two sizes is less under ``sizes``, the first where that is not known."""
    known, other = _value(whole, sizes), _value(part, sizes)
    return part if known is not None and other is not None and other < known else whole


class _Meter:
    """Runs a graph on types: what an operator keeps and computes follows from the types of its inputs and outputs."""

    def __init__(self, spec: ProgramSpec, graph: TypedGraph, sizes: Mapping[str, int]) -> None:
        self.spec = spec
        self.graph = graph
        self.sizes = sizes
        self._parameters = {port.name: tuple(reversed(port.type.shape)) for port in spec.parameters}
        self._kept: list[Dim] = []  # bytes of buffers and accumulators, by node
        self._on_chip: list[Dim | None] = []  # and those of matrix products
        self._flops: list[Dim | None] = []
        self._moved: list[StreamType] = []  # by loads and stores
        self._tiled: set[str] = set()  # the parameters that these name, and
        self._read: set[str] = set()  # those that functions read
        self._costs: dict[int, FnCost | None] = {}  # of functions, by their identity: helpers apply one many times

    def run(self) -> Metrics:
        graph = self.graph
        evaluate(graph, self, [graph.streams[index].type for index in graph.inputs])
        total_flops, total_traffic = self._quantity(_sum(self._flops)), self._quantity(self._traffic())
        compulsory = compulsory_traffic(self.spec, graph, self.sizes)
        ratio = _ratio(total_traffic.value, compulsory.value)
        nodes = zip(graph.nodes, self._on_chip, self._flops, strict=True)
        return Metrics(
            tuple(self._stream(stream) for stream in graph.streams),
            tuple(NodeMetrics(n.index, n.op_name, self._quantity(c), self._quantity(f)) for n, c, f in nodes),
            total_traffic,
            self._quantity(_sum((*self._on_chip, self._ports()))),
            total_flops,
            _ratio(total_flops.value, total_traffic.value),
            self._streaming_degree(),
            compulsory,
            None if ratio is None else max(1.0, ratio),
            self._useful(),
        )

    def apply(self, node: TypedNode, inputs: Sequence[StreamType]) -> Sequence[StreamType]:
        """See :class:`stepcore.graph.evaluate.GraphRuntime`."""
        outputs = [self.graph.streams[index].type for index in node.outputs]
        calls = [(self._cost(fn), fn, times) for fn, times in node.op.calls(inputs)]
        if node.op.off_chip is not OffChipUse.NOTHING:
            # A store's tiles come last: addresses before them are on the chip.
            self._moved += outputs if node.op.off_chip is OffChipUse.LOADS else inputs[-1:]
            self._tiled |= {getattr(node.op, name).name for name in node.op.calling.holds}
        if self._parameters:
            read = (names_read(fn.body, self._parameters) for _, fn, _ in calls if isinstance(fn, FnDecl))
            self._read.update(*read)
        kept = node.op.on_chip_bytes(inputs, outputs)
        self._kept.append(kept)
        self._on_chip.append(_sum((kept, *(_products(fn, cost) for cost, fn, _ in calls))))
        self._flops.append(_sum(_work(times, cost) for cost, _, times in calls))
        return outputs

    def _useful(self) -> int | None:
        if not any(node.op.fills for node in self.graph.nodes):
            return None
        from stepcore.costs.useful import useful_flops  # few programs fill up lists

        return useful_flops(self.graph, self._flops, self.sizes)

    def _stream(self, stream: TypedStream) -> StreamMetrics:
        count, each = element_count(stream.type.shape), element_bytes(stream.type.element)
        quantities = (self._quantity(count), self._quantity(each), self._quantity(count * each))
        return StreamMetrics(stream.index, stream.name, stream.type, *quantities)

    def _cost(self, fn: FnLike) -> FnCost | None:
        """Return the work of one call of a function, None where its shapes are unknown."""
        if id(fn) not in self._costs:
            assert isinstance(fn, FnDecl), "graphs of files hold declarations"
            cost = fn_cost(fn, self.spec.scope, self._parameters)
            self._costs[id(fn)] = None if cost.flops is None else cost
        return self._costs[id(fn)]

    def _traffic(self) -> Dim:
        """Bytes of inputs and outputs, of each load and store, and of parameters, once; not of those that are only
        loaded and stored.
        """
        kept = [port.type for port in self.spec.parameters if port.name in self._read or port.name not in self._tiled]
        return sum(map(_stream_bytes, (*self._ends(), *self._moved, *kept)), Dim.of(0))

    def _ends(self) -> Sequence[StreamType]:
        return [self.graph.streams[index].type for index in (*self.graph.inputs, *self.graph.returns)]

    def _ports(self) -> Dim:
        """Double buffers of the units that load the inputs and store the outputs."""
        return sum((2 * element_bytes(end.element) for end in self._ends()), Dim.of(0))

    def _quantity(self, size: Dim | None) -> Quantity:
        return Quantity(size, _value(size, self.sizes))

    def _streaming_degree(self) -> float | None:
        tiled = (port.type for port in self.spec.parameters if port.name in self._tiled)
        ends = sum(map(_stream_bytes, (*self._ends(), *tiled)), Dim.of(0))
        kept = sum(self._kept, Dim.of(0))
        fixed = dict(self.spec.fixed)
        free = (kept.symbols() | ends.symbols()) - fixed.keys()
        sizes = {**fixed, **{symbol: max(self.sizes.get(symbol, LEAST_SIZE), LEAST_SIZE) for symbol in free}}
        share = _ratio(_value(kept, sizes), _value(ends, sizes))
        return None if share is None else min(max(1 - share, 0.0), 1.0)


def _work(times: Dim, cost: FnCost | None) -> Dim | None:
    return None if cost is None or cost.flops is None else times * cost.flops


def _products(fn: FnLike, cost: FnCost | None) -> Dim | None:
    """Return the bytes that the matrix products inside an element function keep: input columns and weight."""
    if cost is None:
        return None
    each = DTYPE_BYTES[dtype_of(components(fn.input)[0])]
    return _sum(16 * columns * each + weight for columns, weight in cost.matmuls)


def _stream_bytes(stream: StreamType) -> Dim:
    return element_count(stream.shape) * element_bytes(stream.element)


def _sum(parts: Iterable[Dim | None]) -> Dim | None:
    """Return the sum, None where a part is unknown."""
    total = Dim.of(0)
    for part in parts:
        if part is None:
            return None
        total = total + part
    return total


def _value(size: Dim | None, sizes: Mapping[str, int]) -> int | None:
    if size is None:
        return None
    try:
        return size.bind(sizes)
    except DimError:
        return None


def _ratio(over: int | None, under: int | None) -> float | None:
    return None if over is None or not under else over / under
