"""A program as a network of units on a chip.

Each operator becomes a unit by its pace, each stream a channel. Inputs are loads in program order, then come the
parameters that functions read, and results are stores in the order in which they are returned. Where the data decide
(Partition, Merge) every branch is taken as selected everywhere: an upper bound.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from stepcore.check.depths import DepthUnit, net_of
from stepcore.cycles.ends import load, load_parameter, store
from stepcore.cycles.flops import call_cost
from stepcore.fn.decl import FnDecl
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.base import FnLike
from stepcore.ops.pace import Buffers, Read, Routing
from stepcore.sizes.dim import Dim, DimError, product
from stepcore.timing.hardware import Hardware
from stepcore.timing.microcode import Instruction, enq, enq_all, next_or_done, peek, take, times, work
from stepcore.timing.network import Network
from stepcore.types import StreamType, element_bytes

_AHEAD: Final = 1  # cycles after each element of a dimension that ends with the stream


class NotTimed(Exception):
    """A program that has no network: an operator has no unit, or a size is not known. The message says which."""


@dataclass(slots=True)
class ProgramNetwork:
    """A network, and what its parts are.

    ``units`` are nodes of the graph (-1: an end), ``channels`` streams (-1: inside an end). ``unknown`` are operations
    whose cost nobody knows.
    """

    network: Network
    units: list[int] = field(default_factory=list)
    channels: list[int] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def network_of(spec: ProgramSpec, graph: TypedGraph, bindings: Mapping[str, int], hardware: Hardware) -> ProgramNetwork:
    """Return the network of ``graph`` at the sizes ``bindings``.

    Raises:
        NotTimed: an operator's unit, or a size, is not known.
    """
    return _Builder(spec, graph, bindings, hardware).build()


class _Builder:
    def __init__(self, spec: ProgramSpec, graph: TypedGraph, bindings: Mapping[str, int], hardware: Hardware) -> None:
        self.spec, self.graph, self.hardware = spec, graph, hardware
        self.sizes = dict(bindings)
        self.network = Network(hardware)
        self.program = ProgramNetwork(self.network)
        self.channel: dict[int, int] = {}
        self.parameters = {port.name: tuple(reversed(port.type.shape)) for port in spec.parameters}
        self.waits: dict[int, list[int]] = {}  # by node: channels that tell that a parameter is there
        self.ports = 0

    def build(self) -> ProgramNetwork:
        graph = self.graph
        for node in graph.nodes:
            if node.op.routes is Routing.SPLITS:
                self._bind_branches(node)
        units = {unit.node: unit for unit in net_of(graph, [0] * len(graph.streams), self.number).units}
        routed = {node.index for node in graph.nodes if node.op.routes is not Routing.NOTHING}
        others = [node for node in graph.nodes if node.index not in units and node.index not in routed]
        for node in others:
            if node.op.pace is None or not node.op.pace.joins:
                raise NotTimed(f"{node.op_name} has no unit")
        inside = {index for node in others for index in node.outputs}
        for stream in graph.streams:
            if stream.index not in inside:
                self.channel[stream.index] = self.network.channel(stream.name)
                self.program.channels.append(stream.index)
        for index in graph.inputs:
            self._load(index)
        self._parameters([*units, *routed])
        for node in graph.nodes:
            if node.index in units:
                unit = units[node.index]
                reads = [slot.channel for slot in unit.slots]
                self._unit(node, reads, self._body(node, unit, [self.channel[index] for index in reads]))
            elif node.index in routed:
                self._unit(
                    node, node.inputs, self._split(node) if node.op.routes is Routing.SPLITS else self._join(node)
                )
        for index in graph.returns:
            self._store(index)
        self._unused()
        return self.program

    # Sizes --------------------------------------------------------------------------------------------------------

    def number(self, size: Dim) -> int:
        """Return a size as a number."""
        try:
            return size.bind(self.sizes)
        except (DimError, KeyError) as error:
            raise NotTimed(f"the size {size} is not known: {error}") from error

    def _tokens(self, index: int) -> int:
        return self.number(product(self._type(index).shape))

    def _bytes(self, index: int) -> int:
        return self.number(element_bytes(self._type(index).element))

    def _type(self, index: int) -> StreamType:
        return self.graph.streams[index].type

    # Ends ---------------------------------------------------------------------------------------------------------

    def _port(self) -> int:
        self.ports += 1
        return self.ports - 1

    def _end(self, before: int) -> None:
        """Say that what was added since ``before`` units is an end."""
        self.program.units += [-1] * (len(self.network.units) - before)
        self.program.channels += [-1] * (len(self.network.channels) - len(self.program.channels))

    def _load(self, index: int) -> None:
        before = len(self.network.units)
        load(self.network, self._port(), self.channel[index], self._tokens(index), self._rows(index))
        self._end(before)

    def _store(self, index: int) -> None:
        before = len(self.network.units)
        store(self.network, self._port(), self.channel[index], self._tokens(index), self._rows(index))
        self._end(before)

    def _rows(self, index: int) -> tuple[int, int]:
        """Return an element as rows of bytes: a buffer of more than one size is rows of its innermost one."""
        element, whole = self._type(index).element, self._bytes(index)
        inner = getattr(element, "shape", ())
        rows = self.number(product(inner[1:])) if len(inner) > 1 else 1
        return rows, whole // max(rows, 1)

    def _parameters(self, units: Sequence[int]) -> None:
        """Load the parameters that functions read; who reads them starts when they are back."""
        readers: dict[str, list[int]] = {}
        for node in self.graph.nodes:
            for fn, _times in node.op.calls([self._type(index) for index in node.inputs]):
                for name in _read_by(fn, self.parameters):
                    readers.setdefault(name, []).append(node.index)
        for port in self.spec.parameters:
            nodes = [reader for reader in dict.fromkeys(readers.get(port.name, ())) if reader in units]
            if nodes:
                before = len(self.network.units)
                size = self.number(product(port.type.shape)) * self.number(element_bytes(port.type.element))
                told = load_parameter(self.network, self._port(), port.name, size, len(nodes))
                for reader, channel in zip(nodes, told, strict=True):
                    self.waits.setdefault(reader, []).append(channel)
                self._end(before)

    def _unused(self) -> None:
        """Let streams that nobody reads flow away."""
        read = {channel for unit in self.network.units for channel in unit.reads}
        before = len(self.network.units)
        for index, channel in self.channel.items():
            if channel not in read:
                self.network.unit("unused", times(self._tokens(index), take(channel)), (channel,))
        self._end(before)

    # Operators ----------------------------------------------------------------------------------------------------

    def _unit(self, node: TypedNode, reads: Sequence[int], body: list[Instruction]) -> None:
        channels, writes = [self.channel[index] for index in reads], [self.channel[index] for index in node.outputs]
        waits = self.waits.get(node.index, [])
        self.network.unit(node.op_name, [*take(*waits), *body], (*waits, *channels), writes)
        self.program.units.append(node.index)

    def _bind_branches(self, node: TypedNode) -> None:
        """Bind the sizes that only the data know: each branch gets every chunk."""
        chunks = self._tokens(node.inputs[-1])
        self.sizes.update({str(self._type(index).shape[-1]): chunks for index in node.outputs})

    def _split(self, node: TypedNode) -> list[Instruction]:
        """Partition: after a selector the elements of its chunk, each to the branches in ascending order."""
        data, selector = (self.channel[index] for index in node.inputs)
        chunks = self._tokens(node.inputs[1])
        given = [step for index in node.outputs for step in enq(self.channel[index])]
        element = [*take(data), *work(self.hardware.switch), *given]
        return times(chunks, [*take(selector), *times(self._tokens(node.inputs[0]) // chunks, element)])

    def _join(self, node: TypedNode) -> list[Instruction]:
        """Merge: after a selector the chunk of one branch after the other; with the last one come the results."""
        *branches, selector = (self.channel[index] for index in node.inputs)
        chunks, (out,) = self._tokens(node.inputs[-1]), (self.channel[index] for index in node.outputs)
        size = self._tokens(node.outputs[0]) // chunks
        each, last = self._work(node, node.inputs[:1])
        body = take(selector)
        for branch in branches[:-1]:
            body += times(size, [*take(branch), *work(each)])
        return times(chunks, [*body, *times(size, [*take(branches[-1]), *work(last), *enq(out)])])

    def _body(self, node: TypedNode, unit: DepthUnit, reads: Sequence[int]) -> list[Instruction]:
        pace, writes = node.op.pace, [self.channel[index] for index in node.outputs]
        assert pace is not None, "such a node has no unit"
        count = self._tokens(node.outputs[0])
        if pace.applies:
            each, last = self._work(node, [slot.channel for slot in unit.slots])
            call = [*peek(*reads), *work(each), *take(*reads)]
            if pace.folds:
                end = [*peek(*reads), *work(last), *take(*reads), *enq(writes[0])]
                return times(count, [*times(unit.folds - 1, call), *end])
            return times(count, [*peek(*reads), *work(last), *enq(writes[0]), *take(*reads)])
        if pace.folds:
            return times(count, [*times(unit.folds, take(*reads)), *enq(writes[0])])
        if pace.read(0) is Read.REPEATED:
            rounds, (data, *ref) = unit.slots[0].steps, reads
            given = [*take(*ref), *enq(writes[0])] if ref else [*enq(writes[0]), *work(1)]
            return times(count // rounds, [*peek(data), *times(rounds, given), *take(data)])
        if unit.total:
            ahead = [*take(reads[0]), *next_or_done(reads[0]), *enq(writes[0]), *work(_AHEAD)]
            return times(count, ahead)
        return times(count, [*take(*reads), *enq_all(writes)])

    def _work(self, node: TypedNode, reads: Sequence[int]) -> tuple[int, int]:
        """Return the cycles of a call that takes an element of each stream, and of the last one of a fold."""
        chip = self.hardware
        flops = 0
        for fn, _times in node.op.calls([self._type(index) for index in node.inputs]):
            assert isinstance(fn, FnDecl), "graphs of files hold declarations"
            cost = call_cost(fn, self.spec.scope, self.parameters, self.sizes, chip.flops)
            if cost.flops is None:
                self.program.unknown.append(fn.func_name)
            self.program.unknown += cost.unknown
            flops += cost.flops or 0
        bandwidth = chip.onchip.bandwidth
        given = sum(-(-self._bytes(index) // bandwidth) for index in reads if self._from_memory(index))
        each = max(given, -(-flops // chip.compute.bandwidth) if flops else chip.compute.minimum)
        out = node.outputs[0]
        return each, max(each, -(-self._bytes(out) // bandwidth)) if self._to_memory(out) else each

    def _from_memory(self, index: int) -> bool:
        """Return whether elements come from memory: a load, a buffer that is read, or what goes to memory itself."""
        while (producer := self.graph.streams[index].producer) is not None:
            node = self.graph.nodes[producer]
            if node.op.buffers is Buffers.READS:
                return True
            if not _hands_on(node):
                return self._to_memory(index)
            index = node.inputs[0]
        return True

    def _to_memory(self, index: int) -> bool:
        """Return whether elements go to memory: to a store, or into a buffer."""
        if index in self.graph.returns:
            return True
        for node in self.graph.nodes:
            if index in node.inputs:
                if node.op.buffers is Buffers.FILLS:
                    return True
                return _hands_on(node) and any(self._to_memory(output) for output in node.outputs)
        return False


def _hands_on(node: TypedNode) -> bool:
    """Return whether the elements that come out are those that came in: Copy, shapes, Zip, routing."""
    pace = node.op.pace
    if node.op.routes is Routing.SPLITS:
        return True
    return pace is not None and pace.read(0) is Read.TAKEN and not (pace.folds or pace.applies)


def _read_by(fn: FnLike, parameters: Mapping[str, object]) -> list[str]:
    """Return the parameters that a body names."""
    if not isinstance(fn, FnDecl):
        return []
    try:
        body = statements(fn.body)
    except BodySyntaxError:
        return []
    nodes = [node for statement in body for node in ast.walk(statement)]
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    named |= {str(node.value) for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return [name for name in parameters if name in named]
