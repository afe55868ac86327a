"""Folds whose components need each other only in part: most of the work is done at all folded positions at once.

A component of a state depends on the components that its new value reads. Components that depend on each other in
a circle form one stage; the stages run in order of these dependencies. Once a stage is done, its states are known at
every position, so that whatever reads them is an ordinary function of the stream. Within a stage

- a component that does not read itself is computed at all positions at once;
- ``state + g`` (or ``-``, ``maximum``, ``minimum``, ``*``) is a cumulative sum (maximum, ...) of ``g``;
- anything else runs position by position, but only the steps that really read a state of the stage.

The online softmax, for example, becomes a running maximum, its exponentials at all positions together, and one product
and one sum per position. In compilers this is known as loop distribution. Only the roundings of sums and products
may differ from a literal fold.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import torch

from stepcore.sim.fnvec.recorded import RecordedBody, Trace
from stepcore.sim.fnvec.reduction import Kind, combination, reduce_axes, sample_trace
from stepcore.sim.fnvec.tape import Registers, TapeStep, Tensor

# More positions than this are left to the plain loop, which does not hold a list of all of them.
LONGEST: Final = 4096


@dataclass(slots=True)
class FoldStage:
    """Components that are computed together, by their indices.

    ``before`` are the steps on all positions at once. After them either ``kind`` cumulates the register ``operand``, or
    ``loop`` runs at each position on the registers ``rows``, or (both None) the new states are there already.
    ``outputs`` are the registers of the new states. ``states_read`` and ``outputs_read`` tell whether later stages
    read the states before, and after, each position.
    """

    components: tuple[int, ...]
    outputs: tuple[int, ...]
    before: list[TapeStep]
    kind: Kind | None = None
    operand: int = -1
    loop: tuple[TapeStep, ...] | None = None
    rows: tuple[int, ...] = ()
    states_read: bool = False
    outputs_read: bool = False


class Stages:
    """A staged fold over the last of ``batch`` dimensions.

    ``stages`` are in the order in which they run; ``peak`` counts the numbers of the widest element that they compute.
    """

    def __init__(self, fn: RecordedBody, trace: Trace, stages: list[FoldStage], batch: int) -> None:
        self._fn = fn
        self.stages = stages
        self._axis = batch - 1
        self._template = trace.tracer.tape.template
        self.peak = trace.tracer.peak

    def run(self, inputs: Sequence[Tensor], start: Sequence[Tensor], count: int, every: bool) -> list[Tensor] | None:
        """Fold ``count`` positions of the last batch dimension.

        Args:
            inputs: one tensor per input component: batch dimensions of size n or 1, then the element.
            start: the initial state, with batch dimensions of size 1.
            count: the size of the folded dimension (a tensor may have size 1 there).
            every: return the state after each position instead of the last one.

        Returns:
            One tensor per component, without the folded dimension unless ``every``; None where a step fails, which the
            plain loop then does too, with a message about one element.
        """
        first = len(start)
        batch = self._axis + 1
        if any(t.shape[batch:] != shape for t, shape in zip(inputs, self._fn.input_shapes, strict=True)):
            return None
        registers = self._template.copy()
        registers[first : first + len(inputs)] = inputs
        results: list[Tensor] = [*start]
        try:
            for stage in self.stages:
                for run in self._fn.runs(stage.before, [step.run for step in stage.before], self._template):
                    run(registers)
                states = self._run(stage, registers, start, count, every or stage.states_read or stage.outputs_read)
                for component, value in zip(stage.components, states, strict=True):
                    results[component] = value
        except Exception:  # noqa: BLE001 - found again, with its place, by the plain loop
            return None
        return [self._full(t, count) for t in results] if every else [self._last(t) for t in results]

    def _run(
        self, stage: FoldStage, registers: Registers, start: Sequence[Tensor], count: int, every: bool
    ) -> Sequence[Tensor]:
        """Return the new states of a stage, at every position or (size 1) at the last one."""
        if stage.kind is not None:
            states: Sequence[Tensor] = [self._cumulated(stage, registers, start, count, every)]
        elif stage.loop is not None:
            states = self._looped(stage, stage.loop, registers, start, count, every)
        else:
            states = [registers[output] for output in stage.outputs]
        for component, output, value in zip(stage.components, stage.outputs, states, strict=True):
            if stage.outputs_read:
                registers[output] = value
            if stage.states_read:
                registers[component] = self._earlier(value, start[component], count)
        return states

    def _cumulated(
        self, stage: FoldStage, registers: Registers, start: Sequence[Tensor], count: int, every: bool
    ) -> Tensor:
        (component,) = stage.components
        assert stage.kind is not None
        axis, init, operand = self._axis, start[component], registers[stage.operand]
        if every:
            return _cumulative(stage.kind, self._full(operand, count), init, axis)
        plain = self._fn.init()[component]
        return reduce_axes(stage.kind, operand, (axis,), (count,), plain, axis + 1).unsqueeze(axis)

    def _looped(
        self,
        stage: FoldStage,
        loop: Sequence[TapeStep],
        registers: Registers,
        start: Sequence[Tensor],
        count: int,
        every: bool,
    ) -> Sequence[Tensor]:
        here = registers.copy()
        runs = self._fn.runs(loop, [step.run for step in loop], self._template)
        components, outputs = stage.components, stage.outputs
        states = [start[component] for component in components]
        kept: list[list[Tensor]] = []
        variable = (*stage.rows, *components)
        for row in self._rows([registers[slot] for slot in stage.rows], count):
            for slot, value in zip(variable, (*row, *states), strict=True):
                here[slot] = value
            for run in runs:
                run(here)
            states = [here[output] for output in outputs]
            if every:
                kept.append(states)
        if not every:
            return states
        return [_joined(column, self._axis) for column in zip(*kept, strict=True)]

    def _rows(self, tensors: Sequence[Tensor], count: int) -> Iterable[tuple[Tensor, ...]]:
        """Cut the folded dimension into positions of size 1; one of size 1 is the same at each."""
        axis = self._axis
        columns: list[Iterable[Tensor]] = [
            repeat(t, count) if t.shape[axis] == 1 else t.chunk(count, axis) for t in tensors
        ]
        return zip(*columns, strict=True) if columns else repeat((), count)

    def _earlier(self, states: Tensor, init: Tensor, count: int) -> Tensor:
        """Return the state before each position, from the state after each."""
        axis = self._axis
        full = self._full(states, count)
        shape = list(full.shape)
        shape[axis] = 1
        return torch.cat((init.expand(shape), full.narrow(axis, 0, count - 1)), axis)

    def _full(self, tensor: Tensor, count: int) -> Tensor:
        axis = self._axis
        if tensor.shape[axis] == count:
            return tensor
        return tensor.expand(*tensor.shape[:axis], count, *tensor.shape[axis + 1 :])

    def _last(self, tensor: Tensor) -> Tensor:
        return tensor.select(self._axis, -1)


def _cumulative(kind: Kind, value: Tensor, init: Tensor, axis: int) -> Tensor:
    match kind:
        case "sum":
            return init + value.cumsum(axis, dtype=value.dtype)
        case "difference":
            return init - value.cumsum(axis, dtype=value.dtype)
        case "prod":
            return init * value.cumprod(axis, dtype=value.dtype)
        case "max":
            return torch.maximum(init, value.cummax(axis).values)
        case "min":
            return torch.minimum(init, value.cummin(axis).values)


def _joined(column: Sequence[Tensor], axis: int) -> Tensor:
    """Put states together; the first may lack an extent (size 1) that later ones have."""
    first = column[0].shape
    if any(t.shape != first for t in column):
        column = torch.broadcast_tensors(*column)  # type: ignore[no-untyped-call]
    return torch.cat(tuple(column), axis)


def staged(fn: RecordedBody, batch: int) -> Stages | None:
    """Return ``fn`` as a staged fold over the last of ``batch`` dimensions; None where a loop does as well."""
    trace = sample_trace(fn, batch)
    if trace is None or any(step.effect for step in trace.tracer.tape.steps):
        return None
    stages = _Builder(fn, trace).stages()
    if not any(stage.before or stage.kind is not None or stage.loop is None for stage in stages):
        return None
    return Stages(fn, trace, stages, batch)


class _Builder:
    """Sorts the steps of a traced function into stages."""

    def __init__(self, fn: RecordedBody, trace: Trace) -> None:
        tracer = trace.tracer
        self._trace = trace
        self._outputs = [output.slot for output in trace.outputs]
        count = len(fn.output_shapes)
        self._steps = tracer.tape.live_steps(self._outputs)
        arguments = range(count + len(fn.input_shapes))
        produced = {slot for step in self._steps for slot in step.outputs}
        self._constants = set(range(len(tracer.tape.template))) - produced - set(arguments)
        # Only these are known to begin with the batch dimensions, so that they can be cut into positions.
        self._cuttable = {*arguments, *tracer.values, *(reg.slot for reg in tracer.lifted())}
        self._reads = _reads(self._steps, count)
        # Registers that hold their values at all positions.
        self._known = set(range(count, len(arguments))) | self._constants

    def stages(self) -> list[FoldStage]:
        """Return the stages in the order in which they run."""
        result = [self._stage(group) for group in self._groups()]
        later: set[int] = set()
        for stage in reversed(result):
            stage.states_read = not later.isdisjoint(stage.components)
            stage.outputs_read = not later.isdisjoint(stage.outputs)
            later.update(slot for step in (*stage.before, *(stage.loop or ())) for slot in step.inputs)
            later.update(stage.outputs, stage.rows, (stage.operand,))
        return result

    def _groups(self) -> list[tuple[int, ...]]:
        """Return components that need each other, those first that others need."""
        count = len(self._outputs)
        needs = [self._reads.get(output, frozenset()) for output in self._outputs]
        reached = [set(need) for need in needs]
        for _ in range(count):
            for need in reached:
                need.update(*(reached[other] for other in tuple(need)))
        groups: dict[tuple[int, ...], int] = {}
        for component in range(count):
            circle = {other for other in reached[component] if component in reached[other]}
            groups[tuple(sorted(circle | {component}))] = len(reached[component] | {component})
        return sorted(groups, key=lambda group: groups[group])

    def _stage(self, group: tuple[int, ...]) -> FoldStage:
        outputs = tuple(self._outputs[component] for component in group)
        stage = FoldStage(group, outputs, [])
        own = frozenset(group)
        if not any(self._reads.get(output, frozenset()) & own for output in outputs):
            stage.before = self._needed(outputs)
        elif (cumulative := self._cumulative(group)) is not None:
            stage.kind, stage.operand = cumulative
            stage.before = self._needed((stage.operand,))
        else:
            self._cut(stage, own)
        for step in stage.before:
            self._known.update(self._cuttable.intersection(step.outputs))
        self._known.update(group, outputs)
        return stage

    def _cumulative(self, group: tuple[int, ...]) -> tuple[Kind, int] | None:
        if len(group) > 1:
            return None
        (component,) = group
        return combination(self._trace, self._trace.outputs[component], component, {component})

    def _needed(self, wanted: Iterable[int]) -> list[TapeStep]:
        """Return the steps that compute ``wanted`` from what is known, in order."""
        missing = set(wanted) - self._known
        kept: list[TapeStep] = []
        for step in reversed(self._steps):
            if not missing.isdisjoint(step.outputs):
                missing.update(set(step.inputs) - self._known)
                kept.append(step)
        kept.reverse()
        return kept

    def _cut(self, stage: FoldStage, own: frozenset[int]) -> None:
        """Divide the steps of a stage into those before its loop and those in it."""
        needed = self._needed(stage.outputs)
        inside = {id(step) for step in needed if any(self._reads[slot] & own for slot in step.outputs)}
        while True:
            loop = [step for step in needed if id(step) in inside]
            made = {slot for step in loop for slot in step.outputs}
            rows = {slot for step in loop for slot in step.inputs} - made - own - self._constants
            # What cannot be cut is computed at each position.
            moved = {id(step) for step in needed if not (rows - self._cuttable).isdisjoint(step.outputs)}
            if moved <= inside:
                break
            inside |= moved
        stage.loop, stage.rows = tuple(loop), tuple(sorted(rows))
        stage.before = [step for step in needed if id(step) not in inside]


def _reads(steps: Sequence[TapeStep], count: int) -> dict[int, frozenset[int]]:
    """Return for each register the components of the state that its value depends on."""
    reads = {slot: frozenset((slot,)) for slot in range(count)}
    nothing: frozenset[int] = frozenset()
    for step in steps:
        found = nothing.union(*(reads.get(slot, nothing) for slot in step.inputs))
        reads.update(dict.fromkeys(step.outputs, found))
    return reads
