"""What a planned program costs, before it is written down: enough to compare plans."""

from __future__ import annotations

from collections import Counter
from math import log2, prod
from typing import Final

from stepagents.lower.affine import BoundSizes
from stepagents.lower.program import ElementPart, Flow, PlannedProgram
from stepcore.costs.metrics import LEAST_SIZE
from stepcore.records import Record
from stepcore.types import DTYPE_BYTES

# How the ranking weighs: one operator is worth a halving of the work, or two halvings of the memory; a halving of the
# traffic over the compulsory traffic is worth two operators. Streaming the same tensor in once more is worth eight. A
# program that keeps everything on the chip (degree 0) has to save 24 operators.
_TRAFFIC: Final = 2.0
_WORK: Final = 1.0
MEMORY: Final = 0.5
_AGAIN: Final = 8.0
_DEGREE: Final = 24.0


class Costs(Record):
    """Operators with copies; bytes of inputs and outputs and of buffers and accumulators with free sizes at least 64.

    ``compulsory`` is the traffic that no program could avoid: each tensor once.

    ``work`` counts the numbers that functions make, ``again`` the inputs that hold a tensor that another holds too.
    ``here`` are the bytes of inputs and outputs at the sizes of the trace.
    """

    operators: int
    traffic: int
    compulsory: int
    memory: int
    work: int
    again: int
    here: int

    @property
    def degree(self) -> float:
        """The streaming degree."""
        return min(max(1 - self.memory / max(self.traffic, 1), 0.0), 1.0)

    @property
    def rereading(self) -> float:
        """How many times the compulsory traffic the program makes."""
        return max(1.0, self.traffic / max(self.compulsory, 1))

    @property
    def score(self) -> float:
        """Lower is better."""
        sizes = _TRAFFIC * log2(self.rereading) + MEMORY * log2(max(self.memory, 1))
        sizes += _WORK * log2(max(self.work, 1))
        return self.operators + sizes + _AGAIN * self.again + _DEGREE * (1 - self.degree)


def costs_of(program: PlannedProgram, sizes: BoundSizes) -> Costs:
    """Return the costs of ``program``."""
    large = BoundSizes({name: max(size, LEAST_SIZE) for name, size in sizes.bindings.items()})
    uses = Counter(flow.number for step in program.steps for flow in step.inputs)
    uses.update(flow.number for flow in program.results)
    copies = sum(count - 1 for count in uses.values())
    ends = [*(read.flow for read in program.reads), *program.results]
    traffic = sum(_bytes(flow, large) for flow in ends)
    tensors = {read.source.name: read.source for read in program.reads if read.source.kind == "input"}
    compulsory = sum(DTYPE_BYTES[each.dtype] * prod(map(large.of, each.shape)) for each in tensors.values())
    compulsory += sum(_bytes(flow, large) for flow in program.results)
    memory = 0
    for step in program.steps:
        if step.operator == "Bufferize":
            memory += _element(step.inputs[0], large) + 2 * _element(step.output, large)
        elif step.operator in ("Accum", "Scan"):
            memory += _element(step.output, large)
    work = sum(_bytes(step.inputs[0], large) // _element(step.inputs[0], large) * _element(step.output, large)
               for step in program.steps if step.function is not None)  # fmt: skip
    again = len(program.reads) - len({(read.source.kind, read.source.name) for read in program.reads})
    here = sum(_bytes(flow, sizes) for flow in ends)
    return Costs(len(program.steps) + copies, traffic, compulsory, memory, work, again, here)


def positions(program: PlannedProgram, sizes: BoundSizes) -> int:
    """Return how many numbers all functions of ``program`` take at ``sizes``: the work of a run."""
    flows = [flow for step in program.steps if step.function is not None for flow in step.inputs]
    flows += [read.flow for read in program.reads]
    parts = [(flow.axes, part.tile) for flow in flows for part in flow.parts]
    return sum(prod(sizes.of(axis.size) for axis in (*axes, *tile)) for axes, tile in parts)


def _bytes(flow: Flow, sizes: BoundSizes) -> int:
    return _element(flow, sizes) * prod(sizes.of(axis.size) for axis in flow.axes)


def _element(flow: Flow, sizes: BoundSizes) -> int:
    return sum(_part(part, sizes) for part in flow.parts)


def _part(part: ElementPart, sizes: BoundSizes) -> int:
    return DTYPE_BYTES[part.dtype] * prod(sizes.of(axis.size) for axis in part.tile)
