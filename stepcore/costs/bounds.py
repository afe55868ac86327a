"""How much memory a program needs, computed from its types before anything is allocated. No torch here.

The semantics of the operators are run on sizes instead of tensors (:mod:`stepcore.costs.sizes`), against the protocol
of the real runtime. The rule follows what that runtime does, from above:

- inputs and parameters count in full; declared outputs count twice (the result in full shape, and its reference);
- a list of a ragged size is a tensor of its own for the reference, whose object counts: millions of short lists are
  bounded by it, which would take minutes to make, however few their numbers are;
- a stream axis along which the value repeats takes no memory (``Repeat``, ``RepeatRef``, ``Promote``), and neither do
  views; merging such an axis with one that does not repeat takes the full size;
- a Map counts what it materializes: at once where it is small, where somebody needs its values where it stays lazy
  (:mod:`stepcore.costs.policy`), nothing where only folds read it;
- a size that only a run knows (a branch of Partition, ``?L``, ``~L``) counts as its greatest possible value;
- nothing is counted as freed, and the widest working set of any operator comes on top.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Final

from stepcore.costs.sizes import AtMost, ByteCount, ComponentSize, FnSizes, LongestList, SizeData, SizeRuntime
from stepcore.findings.errors import SimError
from stepcore.graph.evaluate import evaluate
from stepcore.graph.ir import Port, ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.ops.base import MOST_COUNTED
from stepcore.ops.pace import LoopPart
from stepcore.sizes.dim import OPEN, SIZE_RULE, Dim, DimError
from stepcore.types import DTYPE_BYTES, Shape, StreamType, components, dtype_of, element_shape, tensor_shapes

DEFAULT_LIMIT: Final = 4 << 30
_BYTES_OF_A_LIST: Final = 640  # of a small tensor with its object, measured


class Bounds:
    """The bounds of one specification under ``bindings``; sizes of its functions are computed once."""

    def __init__(self, spec: ProgramSpec, bindings: Mapping[str, int], limit: int = DEFAULT_LIMIT) -> None:
        self.spec = spec
        self.bindings = bindings
        self.limit = limit
        self._fns: dict[int, FnSizes] = {}
        self._loops: dict[str, int] = {}  # sizes of loops that only a run knows
        self._ports: list[tuple[tuple[int, ...], list[ComponentSize]]] = [self._port(port) for port in spec.inputs]
        self.fixed = sum(prod(p.extents) * p.bytes_each for _, parts in self._ports for p in parts)
        self.fixed += sum(self._port_bytes(port.type) for port in spec.parameters)
        known = {each.name for each in spec.drawn}
        self.lists = self._list_bytes(known)
        self.fixed += 2 * sum(self._port_bytes(port.type) for port in spec.outputs or () if _is_known(port.type, known))

    def check(self, graph: TypedGraph, scale: int = 1) -> ByteCount:
        """Return what running ``graph`` takes.

        Raises:
            SimError: STEP406 with the operator, the bytes needed and the limit; STEP405 where a fold is endless.
        """
        ledger = ByteCount(self.limit, scale)
        self.charge_fixed(ledger)
        if graph.has_loops:
            self._loops = loop_sizes(graph)
        runtime = SizeRuntime(ledger, self.fn_sizes, self.bind, graph.streams)
        ports = zip(self.spec.inputs, self._ports, strict=True)
        inputs = [SizeData(ledger, sizes, port.type.element, parts) for port, (sizes, parts) in ports]
        streams = evaluate(graph, runtime, inputs)
        for index in graph.returns:
            streams[index].force()
        return ledger

    def charge_fixed(self, ledger: ByteCount) -> None:
        """Add what every run of the specification holds.

        Raises:
            SimError: STEP406 where that is more than the limit.
        """
        ledger.charge(self.fixed)
        if self.lists:
            inputs, ledger.given = (
                ledger.given,
                "the lists of ragged sizes, each of which is a tensor for the reference,",
            )
            ledger.charge(self.lists)
            ledger.given = inputs

    def _list_bytes(self, known: set[str]) -> int:
        """Return what the lists take that a reference gets and gives, besides their numbers."""
        spec = self.spec
        if not spec.drawn or not (spec.reference or any(port.transforms for port in spec.outputs or ())):
            return 0
        given = [2 * self._lists(port.type) for port in spec.inputs]  # which it gets as a copy
        made = [self._lists(port.type) for port in spec.outputs or () if _is_known(port.type, known)]
        return (sum(given) + sum(made)) * _BYTES_OF_A_LIST

    def _lists(self, stream: StreamType) -> int:
        """Return how many lists the innermost ragged dimension has."""
        inner = next((place for place, size in enumerate(stream.shape) if size.is_ragged), None)
        if inner is None:
            return 0
        return prod(map(self.bind, stream.shape[inner + 1 :])) * len(components(stream.element))

    def bind(self, size: Dim | int) -> int:
        """Return the integer that ``size`` is. SimError STEP225 where a symbol has no value."""
        if isinstance(size, int):
            return size
        try:
            return size.bind(self.bindings)
        except DimError as error:
            return self._most(size, error)

    def _most(self, size: Dim, error: DimError) -> int:
        """Return the greatest value of a size that only a run knows."""
        if not size.is_open:
            raise SimError("STEP225", str(error)) from None
        from stepcore.sizes.kinds import upper  # most programs have static sizes

        try:
            kind = LongestList if size.is_ragged else AtMost
            return kind(upper(size, {**self._loops, **self.spec.most(self.bindings)}))
        except DimError as unknown:
            raise SimError("STEP225", str(unknown)) from None

    def fn_sizes(self, fn: Any) -> FnSizes:
        """Return the sizes of an element function's results."""
        found = self._fns.get(id(fn))
        if found is None:
            parts = tuple(
                (self._shape(element_shape(item)), DTYPE_BYTES[dtype_of(item)]) for item in components(fn.output)
            )
            out_bytes = sum(prod(axes) * size for axes, size in parts)
            in_bytes = sum(
                prod(self._shape(element_shape(item))) * DTYPE_BYTES[dtype_of(item)] for item in components(fn.input)
            )
            found = self._fns[id(fn)] = FnSizes(fn, parts, out_bytes, out_bytes + in_bytes)
        return found

    def _shape(self, shape: Shape) -> tuple[int, ...]:
        return tuple(self.bind(size) for size in shape)

    def _port(self, port: Port) -> tuple[tuple[int, ...], list[ComponentSize]]:
        parts = []
        for item, shape in zip(components(port.type.element), tensor_shapes(port.type), strict=True):
            extents = self._shape(shape)
            parts.append(ComponentSize(extents, extents[len(port.type.shape) :], DTYPE_BYTES[dtype_of(item)]))
        return self._shape(port.type.shape), parts

    def _port_bytes(self, stream: StreamType) -> int:
        shapes = zip(components(stream.element), tensor_shapes(stream), strict=True)
        return sum(prod(self._shape(shape)) * DTYPE_BYTES[dtype_of(item)] for item, shape in shapes)


def loop_sizes(graph: TypedGraph) -> dict[str, int]:
    """Return what is taken for the sizes of loops that only a run knows, where nobody says how large they get."""
    begins = [node for node in graph.nodes if node.op.looping is LoopPart.BEGINS]
    sizes = (size for node in begins for shape in tensor_shapes(graph.streams[node.outputs[0]].type) for size in shape)
    return {name: MOST_COUNTED for size in sizes for name in size.symbols() if name[0] in OPEN}


def _is_known(stream: StreamType, drawn: set[str]) -> bool:
    """Return whether all sizes of a type have a bound; those of outputs that no input has are found by a run."""
    shapes = (size for shape in tensor_shapes(stream) for size in shape if size.is_open)
    return all(name in drawn or name[0] not in OPEN for size in shapes for name in size.symbols())


def check_sizes(spec: ProgramSpec, bindings: Mapping[str, int], limit: int = DEFAULT_LIMIT) -> None:
    """Refuse sizes that no data can have, and inputs, parameters and outputs that exceed ``limit`` bytes alone.

    Raises:
        SimError: STEP217 a size below 1, STEP225 a symbol without a value, STEP406 too much memory.
    """
    ports = [(port.name, port.type) for port in (*spec.inputs, *spec.parameters)]
    ports += [(port.name, port.type) for port in spec.outputs or ()]
    for name, stream in ports:
        for size in {size for shape in tensor_shapes(stream) for size in shape}:
            if size.is_open:  # any number, 0 included: what is drawn was checked where it is declared
                continue
            try:
                value = size.bind(bindings)
            except DimError as error:
                raise SimError("STEP225", f"{name}: {error}") from None
            if value < 1:
                raise SimError("STEP217", f"the size {size} of {name} is {value}; {SIZE_RULE}")
    Bounds(spec, bindings, limit).charge_fixed(ByteCount(limit))
