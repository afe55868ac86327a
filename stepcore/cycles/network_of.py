"""A program as a network of units on a chip.

Each operator becomes a unit by its pace, each stream a channel. Inputs are loads in program order, then come the
parameters that functions read, and results are stores in the order in which they are returned. Where the data decide
(Partition, Merge) it follows routes: those of a run, drawn ones, or every branch (:mod:`stepcore.cycles.routes`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from stepcore.check.depths import DepthUnit, net_of
from stepcore.cycles.ends import load, load_parameter, store
from stepcore.cycles.program_network import NotTimed, ProgramNetwork, is_end_of_loop
from stepcore.cycles.ragged_units import padded_body, ragged_body
from stepcore.cycles.routed_units import RoutedUnits
from stepcore.cycles.routes import ProgramRoutes, routes_without_run
from stepcore.fn.decl import FnDecl
from stepcore.fn.outside import names_read
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.pace import OffChipUse, Pace, Read, Routing
from stepcore.sizes.dim import OPEN, Dim, product
from stepcore.timing.hardware import Hardware
from stepcore.timing.microcode import Instruction, take, times
from stepcore.timing.unit_programs import (
    expand_unit,
    flat_map_unit,
    fold_unit,
    gather_unit,
    hand_on,
    load_unit,
    map_unit,
    pad_unit,
    promote_ahead,
    random_store_unit,
    repeat_unit,
    store_unit,
    unpack_unit,
)
from stepcore.types import element_bytes

_UNKNOWN_LOOP: Final = "how many chunks come back by a loop only a run tells: `stepsmith simulate --timing`"


def network_of(
    spec: ProgramSpec,
    graph: TypedGraph,
    bindings: Mapping[str, int],
    hardware: Hardware,
    routes: ProgramRoutes | None = None,
) -> ProgramNetwork:
    """Return the network of ``graph`` at the sizes ``bindings``; ``routes`` are those of a run, None without one.

    Raises:
        NotTimed: an operator's unit, or a size, is not known.
    """
    found = routes_without_run(spec, graph, bindings) if routes is None else routes
    return _Builder(spec, graph, bindings, hardware, found).build()


class _Builder(RoutedUnits):
    """The units of a program, and its ends."""

    def build(self) -> ProgramNetwork:
        graph = self.graph
        self._need_loops()
        self._bind_routed()
        units = {unit.node: unit for unit in net_of(graph, [0] * len(graph.streams), self.number).units}
        routed = {node.index for node in graph.nodes if node.op.routes is not Routing.NOTHING}
        fills = {node.index for node in graph.nodes if node.op.fills}
        others = [node for node in graph.nodes if node.index not in {*units, *routed, *fills}]
        others = [node for node in others if node.op.off_chip is OffChipUse.NOTHING and not is_end_of_loop(node)]
        for node in others:
            if node.op.pace is None or not node.op.pace.joins:
                raise NotTimed(f"{node.op_name} has no unit")
        inside = {index for node in others for index in node.outputs}
        for stream in graph.streams:
            if stream.index not in inside and stream.index not in self.loops.values():
                latency = self._latency(stream)
                self.channel[stream.index] = self.network.channel(stream.name, self._depth(stream), latency=latency)
                self.program.streams[self.channel[stream.index]] = stream.index
        self._close_loops()
        for index in graph.inputs:
            self._load(index)
        self._parameters([*units, *routed])
        self._explicit_ports()
        for node in graph.nodes:
            if node.op.off_chip is not OffChipUse.NOTHING:
                self._unit(node, node.inputs, self._moved(node))
            elif node.index in units:
                unit = units[node.index]
                reads = [slot.channel for slot in unit.slots]
                self._unit(node, reads, self._body(node, unit, [self.channel[index] for index in reads]))
            elif node.index in fills:
                self._unit(node, node.inputs, self._filling(node))
            elif node.index in routed:
                self._unit(node, node.inputs, self._routed_body(node))
        for index in graph.returns:
            self._store(index)
        self._unused()
        for stream in graph.streams:
            self._bytes(stream.index)  # binds the sizes that only a run knows, for all that look at them
        return self.program

    def _need_loops(self) -> None:
        """Refuse loops of which nobody knows how much comes back.

        Raises:
            NotTimed: there is one.
        """
        sizes = (size for source in self.loops for size in self._type(source).shape)
        if any(name[0] in OPEN and name not in self.sizes for size in sizes for name in size.symbols()):
            raise NotTimed(_UNKNOWN_LOOP)

    def _close_loops(self) -> None:
        """Let what closes a loop be written into the FIFO of its stream.

        Raises:
            NotTimed: as many chunks come back as only a run tells.
        """
        for source, index in self.loops.items():
            self.channel[index] = self.channel[source]
            if self._tokens(source) != self._tokens(index):
                raise NotTimed(_UNKNOWN_LOOP)

    # Ends ---------------------------------------------------------------------------------------------------------

    def _port(self) -> int:
        self.ports += 1
        return self.ports - 1

    def _explicit_ports(self) -> None:
        """Give loads ports in program order, then stores, with the rates that the program gives them."""
        nodes = self.graph.nodes
        for use in (OffChipUse.LOADS, OffChipUse.STORES):
            for node in (node for node in nodes if node.op.off_chip is use):
                port = self.port_of[node.index] = self._port()
                given = node.op.param_values()["dispatch"]
                if given is not None:
                    self.network.dispatch[port] = self.number(Dim.of(given))

    def _end(self, before: int) -> None:
        """Say that what was added since ``before`` units is an end."""
        self.program.units += [-1] * (len(self.network.units) - before)

    def _load(self, index: int) -> None:
        before = len(self.network.units)
        load(self.network, self._port(), self.channel[index], self._elements(index), self._rows(index))
        self._end(before)

    def _store(self, index: int) -> None:
        before = len(self.network.units)
        store(self.network, self._port(), self.channel[index], self._elements(index), self._rows(index))
        self._end(before)

    def _parameters(self, units: Sequence[int]) -> None:
        """Load the parameters that functions read; who reads them starts when they are back."""
        readers: dict[str, list[int]] = {}
        for node in self.graph.nodes:
            for fn, _times in node.op.calls([self._type(index) for index in node.inputs]):
                for name in names_read(fn.body, self.parameters) if isinstance(fn, FnDecl) else ():
                    readers.setdefault(name, []).append(node.index)
        for port in self.spec.parameters:
            nodes = [reader for reader in dict.fromkeys(readers.get(port.name, ())) if reader in units]
            if nodes:
                before = len(self.network.units)
                size = self.number(product(port.type.shape)) * self.number(element_bytes(port.type.element))
                self.program.kept += size
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

    def _moved(self, node: TypedNode) -> list[Instruction]:
        """An off-chip operator: one tile after the other, of which none overlaps the next."""
        port = self.port_of[node.index]
        if node.op.off_chip is OffChipUse.STORES:
            *address, of = node.inputs
            bursts, tiles = self._bursts(of), (self.channel[of], self._elements(of))
            if not address:
                return store_unit(port, *tiles, bursts)
            addresses = self.channel[address[0]], self._elements(address[0])
            return random_store_unit(port, addresses, tiles, self.channel[node.outputs[0]], bursts)
        (out,) = node.outputs
        bursts, channel = self._bursts(out), self.channel[out]
        if not node.inputs:
            return load_unit(port, channel, self._tokens(out), bursts)
        (ref,) = node.inputs
        dims = len(self._type(out).shape) - len(self._type(ref).shape)
        tiles_of_ref = self.number(product(self._type(out).shape[:dims]))
        return load_unit(port, channel, tiles_of_ref, bursts, self.channel[ref], self._elements(ref))

    def _bursts(self, index: int) -> int:
        rows, row = self._rows(index)
        return rows * -(-row // self.hardware.memory.burst)

    def _body(self, node: TypedNode, unit: DepthUnit, reads: Sequence[int]) -> list[Instruction]:
        pace, writes = node.op.pace, [self.channel[index] for index in node.outputs]
        assert pace is not None, "such a node has no unit"
        out, count = writes[0], self._tokens(node.outputs[0])
        if unit.total:
            return promote_ahead(reads[0], out, count)
        if any(index in self.opened for index in (*(slot.channel for slot in unit.slots), *node.outputs)):
            return self._ragged(node, pace, [slot.channel for slot in unit.slots])
        rounds = unit.slots[0].steps  # of an element
        taken = count // max(rounds, 1)
        if pace.applies:
            each, last = self._work(node, [slot.channel for slot in unit.slots])
            if pace.folds:
                return fold_unit(reads, out, count, unit.folds, each, last)
            if pace.read(0) is Read.REPEATED:
                return flat_map_unit(reads, out, taken, last, rounds)
            return map_unit(reads, out, count, last)
        if pace.folds:
            return gather_unit(reads[0], out, count, unit.folds)
        if pace.read(0) is Read.REPEATED:
            return self._repeated(pace, unit, reads, out, taken)
        if pace.read(0) is Read.SPREAD:
            return unpack_unit(reads[0], out, taken, rounds)
        return hand_on(reads, writes, count)

    def _repeated(self, pace: Pace, unit: DepthUnit, reads: Sequence[int], out: int, tokens: int) -> list[Instruction]:
        data, *refs = reads
        rounds = unit.slots[0].steps
        if not refs:
            return repeat_unit(data, out, tokens, rounds)
        if pace.read(1) is Read.TAKEN:
            return expand_unit(data, refs[0], out, tokens, rounds)
        each = unit.slots[1].steps
        return repeat_unit(data, out, tokens, each, refs[0], rounds // max(each, 1))

    def _filling(self, node: TypedNode) -> list[Instruction]:
        """Return what Reshape does that fills up lists: where nobody knows better, all are equally long."""
        (data,), writes = node.inputs, [self.channel[index] for index in node.outputs]
        if data in self.opened or node.outputs[0] in self.opened:
            return padded_body(self._stream(data), [self._stream(index) for index in node.outputs])
        inner, *outer = self._type(data).shape
        size, filled = self.number(inner), self.number(product(self._type(node.outputs[0]).shape[:2]))
        lists = self.number(product(outer)) if size else 0
        return pad_unit(self.channel[data], writes, lists, size, filled - size)

    def _ragged(self, node: TypedNode, pace: Pace, reads: Sequence[int]) -> list[Instruction]:
        """Return what a unit does of whose streams lists differ in length."""
        cycles = self._work(node, reads) if pace.applies else (0, 0)
        inputs, output = [self._type(index) for index in node.inputs], self._type(node.outputs[0])
        rounds = [len(node.op.rounds(inputs, output, slot)) for slot in range(len(inputs))]
        read, written = ([self._stream(index) for index in row] for row in (reads, node.outputs))
        return ragged_body(pace, read, written, cycles, rounds)
