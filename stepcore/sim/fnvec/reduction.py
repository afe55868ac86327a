"""Recognizes functions that fold by one reduction, and folds with them.

A function folds by a reduction when every component ``i`` it returns is ``state[i] + g_i(input)`` (or ``-``,
``maximum``, ``minimum``, ``*``) with ``g_i`` independent of the state. Folding n positions is then one sum
(maximum, ...) of ``g_i`` over them, combined with the init; only the order of roundings differs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from stepcore.sim.fnvec.contract import LazyProduct
from stepcore.sim.fnvec.recorded import CallPlan, RecordedBody, Trace, product_of
from stepcore.sim.fnvec.tape import Reg, Tensor

Kind = Literal["sum", "difference", "max", "min", "prod"]
_KINDS: dict[str, Kind] = {
    "add": "sum", "sub": "difference", "maximum": "max", "max": "max", "minimum": "min", "min": "min", "mul": "prod",
}  # fmt: skip


@dataclass(slots=True)
class _Form:
    """The recorded reduction for one number of batch dimensions."""

    trace: Trace
    kinds: tuple[Kind, ...]
    slots: list[int]


@dataclass(slots=True)
class _Folding:
    """How to compute the operands of the reductions: a plan, the slots that its steps read, and per component a slot
    or a product.
    """

    plan: CallPlan
    needed: frozenset[int]
    sources: list[Any]


class Reduction:
    """A fold by reductions. ``kinds`` holds one of sum, difference, max, min, prod per component."""

    def __init__(self, fn: RecordedBody, form: _Form, batch: int) -> None:
        self._fn = fn
        self.kinds = form.kinds
        self._pre: dict[int, CallPlan] = {}
        self._folding: dict[int, _Folding] = {}
        self._form = {batch: form}

    def pre(self, inputs: Sequence[Tensor], batch: int) -> list[Tensor]:
        """Return ``g_i(input)`` at every batch position, each with the full element shape of its component.

        Raises:
            FnRuntimeError: the body fails.
        """
        plan = self._pre.get(batch)
        if plan is None:
            form = self._traced(batch)
            plan = self._pre[batch] = self._fn.plan(form.trace, form.slots)
        registers = self._run(plan, inputs)
        pairs = zip(plan.outputs, self._fn.output_shapes, strict=True)
        return [_widened(registers[slot], shape, batch) for slot, shape in pairs]

    def fold(
        self, inputs: Sequence[Tensor | LazyProduct], batch: int, fold_axes: Sequence[int], sizes: Sequence[int]
    ) -> list[Tensor]:
        """Fold the batch dimensions ``fold_axes``, starting from the init.

        Args:
            inputs: one tensor per input component, ``batch`` leading dimensions of size n or 1, then the element. A
                :class:`LazyProduct` that is summed as it is never gets materialized.
            batch: number of leading dimensions.
            fold_axes: which of them are folded.
            sizes: the true sizes of ``fold_axes`` (a tensor may have size 1 there).

        Returns:
            One tensor per component: the remaining batch dimensions (n or 1), then the element.
        """
        folding = self._folding.get(batch)
        if folding is None:
            folding = self._folding[batch] = self._fold_plan(batch)
        states = len(self._fn.output_shapes)
        values = [
            t.materialize() if isinstance(t, LazyProduct) and states + i in folding.needed else t
            for i, t in enumerate(inputs)
        ]
        registers = self._run(folding.plan, values)
        results = []
        init = self._fn.init()
        for index, source in enumerate(folding.sources):
            value = _operand(registers, source, batch)
            shape = self._fn.output_shapes[index]
            folded = reduce_axes(self.kinds[index], value, fold_axes, sizes, init[index], batch)
            lead = folded.shape[: batch - len(fold_axes)]
            results.append(folded.expand(*lead, *shape) if folded.shape != (*lead, *shape) else folded)
        return results

    def _run(self, plan: CallPlan, inputs: Sequence[Any]) -> list[Any]:
        registers = plan.template.copy()
        start = len(self._fn.output_shapes)
        registers[start : start + len(inputs)] = inputs
        for step in self._fn.runs(plan.steps, plan.runs, plan.template):
            step(registers)
        return registers

    def _traced(self, batch: int) -> _Form:
        form = self._form.get(batch)
        if form is None:
            form = _form(self._fn, batch)
            if form is None or form.kinds != self.kinds:
                raise ValueError(f"{self._fn.decl.func_name} folds differently with {batch} batch dimensions")
            self._form[batch] = form
        return form

    def _fold_plan(self, batch: int) -> _Folding:
        form = self._traced(batch)
        sources: list[Any] = []
        wanted: list[int] = []
        for kind, slot in zip(form.kinds, form.slots, strict=True):
            product = product_of(form.trace, slot) if kind in ("sum", "difference") else None
            sources.append(slot if product is None else product)
            wanted += [slot] if product is None else [product[0], product[1]]
        plan = self._fn.plan(form.trace, wanted)
        return _Folding(plan, frozenset(slot for step in plan.steps for slot in step.inputs), sources)


def _operand(registers: list[Any], source: Any, batch: int) -> Tensor | LazyProduct:
    if isinstance(source, int):
        value: Tensor | LazyProduct = registers[source]
        return value
    left, right, rank, dims = source
    return LazyProduct(registers[left], registers[right], batch, rank, dims)


def _widened(value: Tensor, shape: tuple[int, ...], batch: int) -> Tensor:
    if value.shape[batch:] == shape:
        return value
    return value.expand(*value.shape[:batch], *shape)


def reduce_axes(
    kind: Kind, value: Tensor | LazyProduct, axes: Sequence[int], sizes: Sequence[int], init: Tensor, batch: int
) -> Tensor:
    """Fold the batch dimensions ``axes``, of true ``sizes``, from ``init`` (one element); they disappear."""
    axes = [axis % batch for axis in axes]
    shape = value.shape
    # Along a compressed axis the same value is folded size times.
    times = 1
    for axis, size in zip(axes, sizes, strict=True):
        if shape[axis] == 1:
            times *= size
    if not times or any(shape[axis] == 0 for axis in axes):
        kept = [shape[axis] for axis in range(batch) if axis not in axes]
        return init.expand(*kept, *init.shape)
    if kind in ("sum", "difference"):
        return _total(kind, value, axes, times, init)
    dense = value.materialize() if isinstance(value, LazyProduct) else value
    if kind == "max":
        return torch.maximum(dense.amax(tuple(axes)), init)
    if kind == "min":
        return torch.minimum(dense.amin(tuple(axes)), init)
    for axis in sorted(axes, reverse=True):
        dense = dense.prod(axis, dtype=dense.dtype)
    return (dense**times if times != 1 else dense) * init


def _total(kind: Kind, value: Tensor | LazyProduct, axes: Sequence[int], times: int, init: Tensor) -> Tensor:
    if isinstance(value, LazyProduct):
        total = value.sum(axes)
    else:
        total = value.sum(tuple(axes), dtype=value.dtype) if axes else value
    if times != 1:
        total = total * times
    return init - total if kind == "difference" else init + total


def recognize(fn: RecordedBody) -> Reduction | None:
    """Return the reduction that ``fn`` folds by, or None."""
    form = _form(fn, 1)
    return None if form is None else Reduction(fn, form, 1)


def _form(fn: RecordedBody, batch: int) -> _Form | None:
    """Record the body and look at what it returns."""
    trace = sample_trace(fn, batch)
    if trace is None:
        return None
    states = set(range(len(fn.output_shapes)))
    kinds: list[Kind] = []
    slots: list[int] = []
    for index, output in enumerate(trace.outputs):
        found = combination(trace, output, index, states)
        if found is None:
            return None
        kinds.append(found[0])
        slots.append(found[1])
    return _Form(trace, tuple(kinds), slots)


def sample_trace(fn: RecordedBody, batch: int) -> Trace | None:
    """Record the body of a fold on made-up values, of which only the shapes matter."""
    lead = (2,) * batch
    pairs = [*zip(fn.output_shapes, fn.output_dtypes, strict=True), *zip(fn.input_shapes, fn.input_dtypes, strict=True)]
    return fn.trace([_sample((*lead, *shape), dtype) for shape, dtype in pairs], batch)


def _sample(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64).remainder(7).div(8).add(0.25)).to(dtype).reshape(shape)


def combination(trace: Trace, output: Reg, index: int, states: set[int]) -> tuple[Kind, int] | None:
    """Return how ``output`` combines the state ``index`` with a register that reads none of ``states``, and which."""
    tape = trace.tracer.tape
    step = tape.producer(output.slot)
    if step is None or step.tag not in _KINDS or len(step.inputs) != 2 or any(s.effect for s in tape.steps):
        return None
    kind = _KINDS[step.tag]
    left, right = step.inputs
    if left == index:
        operand = right
    elif right == index and kind != "difference":
        operand = left
    else:
        return None
    if not isinstance(_shape(trace, operand), torch.Size) or tape.ancestors(operand) & states:
        return None
    return kind, operand


def _shape(trace: Trace, slot: int) -> Any:
    """Return the shape of a traced register with batch dimensions, None for constants."""
    tape = trace.tracer.tape
    if any(slot in step.outputs for step in tape.steps) or slot < len(trace.tracer._arguments):
        return torch.Size(())
    return None
