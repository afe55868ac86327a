"""How long a call takes: bytes from memory, FLOPs, bytes to memory, by the timing chapter ("Work")."""

from __future__ import annotations

from collections.abc import Sequence

from stepcore.cycles.flops import CallCost, call_cost
from stepcore.cycles.program_network import CallTerms, ProgramStreams
from stepcore.fn.decl import FnDecl
from stepcore.graph.typed import TypedNode
from stepcore.ops.base import FnLike
from stepcore.ops.pace import Buffers, OffChipUse, Routing
from stepcore.sizes.dim import Dim
from stepcore.types import element_bytes


class CallWork(ProgramStreams):
    """The cycles of calls."""

    def _work(self, node: TypedNode, reads: Sequence[int]) -> tuple[int, int]:
        """Return the cycles of a call that takes an element of each stream, and of the last one of a fold."""
        chip = self.hardware
        flops = 0
        for fn, calls in node.op.calls([self._type(index) for index in node.inputs]):
            cost = self._cost(fn)
            flops += cost.flops or 0
            opened = self.opened.get(reads[0])
            count = self.number(calls) if opened is None else sum(opened.elements)
            self.program.flops[node.index] = self.program.flops.get(node.index, 0) + (cost.flops or 0) * count
            for name in (*([fn.func_name] if cost.flops is None else []), *cost.unknown):
                self.program.doubtful.setdefault(name, node.index)
        bandwidth = chip.onchip.bandwidth
        given = sum(-(-self._bytes(index) // bandwidth) for index in reads if self._from_memory(index))
        compute = -(-flops // self._bandwidth(node)) if flops else chip.compute.minimum
        out = -(-self._bytes(node.outputs[0]) // bandwidth) if self._to_memory(node.outputs[0]) else 0
        self.program.terms[node.index] = CallTerms(given, compute, out, flops)
        each = max(given, compute)
        return each, max(each, out)

    def _bandwidth(self, node: TypedNode) -> int:
        """Return the FLOPs per cycle of a unit: those that the program gives it, else the chip's."""
        given = node.op.param_values().get("bw")
        if given is None:
            return self.hardware.compute.bandwidth
        return self.program.bandwidth.setdefault(node.index, self.number(Dim.of(given)))

    def _cost(self, fn: FnLike) -> CallCost:
        """Return the cost of a call."""
        if id(fn) not in self.costs:
            assert isinstance(fn, FnDecl), "graphs of files hold declarations"
            for element in (fn.input, fn.output):
                self.number(element_bytes(element))  # binds the sizes that only a run knows
            self.costs[id(fn)] = call_cost(fn, self.spec.scope, self.parameters, self.sizes, self.hardware.flops)
        return self.costs[id(fn)]

    def _from_memory(self, index: int) -> bool:
        """Return whether elements come from memory: a load, a buffer that is read, or what goes to memory itself."""
        while (producer := self.graph.streams[index].producer) is not None:
            node = self.graph.nodes[producer]
            if node.op.buffers is Buffers.READS or node.op.off_chip is OffChipUse.LOADS:
                return True
            if not _hands_on(node) or index not in _carried(node):
                return self._to_memory(index)
            index = node.inputs[0]
        return True

    def _to_memory(self, index: int) -> bool:
        """Return whether elements go to memory: to a store, or into a buffer."""
        if index in self.graph.returns:
            return True
        reader = self.readers.get(index)
        if reader is None:
            return False
        is_stored = reader.op.off_chip is OffChipUse.STORES and reader.inputs[-1] == index  # and no address
        if reader.op.buffers is Buffers.FILLS or is_stored:
            return True
        is_selector = reader.op.routes.by_selector and reader.inputs[-1] == index
        if is_selector or not _hands_on(reader):
            return False
        return any(self._to_memory(output) for output in _carried(reader))


def _carried(node: TypedNode) -> tuple[int, ...]:
    """Return the streams in which elements go on: a selector of lanes or arrivals is made, and has none of them."""
    return node.outputs[:-1] if node.op.routes in (Routing.ARRIVES, Routing.DEALS) else node.outputs


def _hands_on(node: TypedNode) -> bool:
    """Return whether the elements that come out are those that came in, those of branches included."""
    if node.op.off_chip is not OffChipUse.NOTHING:
        return False  # a tile is not its address
    return node.op.routes not in (Routing.NOTHING, Routing.JOINS) or (
        node.op.pace is not None and node.op.pace.hands_on
    )
