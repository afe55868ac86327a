"""Element functions compiled for whole streams: :class:`CompiledFn`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch

from stepcore.fn.decl import FnDecl
from stepcore.sim.fnvec.batch import Shape, common_shape, count
from stepcore.sim.fnvec.contract import LazyProduct
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import FnRuntimeError
from stepcore.sim.fnvec.recorded import CallPlan, RecordedBody, product_of
from stepcore.sim.fnvec.reduction import Reduction, recognize
from stepcore.sim.fnvec.rules import (  # noqa: F401 - each puts its rules into the tracer's table
    index,
    join,
    matrix,
    pointwise,
    reduce,
    view,
    windows,
)  # fmt: skip
from stepcore.sim.fnvec.stages import Stages, staged
from stepcore.sim.fnvec.tape import Tensor
from stepcore.sim.runs import OF_OPERATION


class CompiledFn(RecordedBody):
    """One element function, ready to run on all positions of a stream at once.

    The element shapes are those of the declaration bound by ``env.bindings``. ``vectorized`` tells after a call
    whether that number of batch dimensions runs on the tape (True) or position by position.
    """

    def __init__(self, decl: FnDecl, env: FnEnv) -> None:
        super().__init__(decl, env)
        self._version = env.version
        self._plans: dict[int, CallPlan | None] = {}
        self._lazy: dict[int, list[Any] | None] = {}
        self._staged: dict[int, Stages | None] = {}
        self._reduction: Reduction | None = None
        self._reduction_known = False

    # Calls ------------------------------------------------------------------------------------------------------

    def call(self, args: Sequence[Sequence[Tensor]], batch: int) -> list[Tensor]:
        """Apply the function at every batch position.

        Args:
            args: ``([input...],)`` or ``([state...], [input...])``, one tensor per component with ``batch`` leading
                dimensions, each of the full size or 1 (the same along it), then the element's dimensions.
            batch: number of leading dimensions; 0 applies the function once.

        Returns:
            One tensor per component, likewise: ``batch`` dimensions of size n or 1, then the element's.

        Raises:
            FnRuntimeError: the body fails or does not return what is declared.
        """
        if self._version != self.env.version:
            self._forget()
        plan = self._plans.get(batch)
        arguments = [tensor for group in args for tensor in group]
        if plan is None:
            return self._first_call(arguments, batch)
        shapes = tuple([tensor.shape for tensor in arguments])
        if shapes not in plan.shapes:
            self._check_shapes(arguments, batch)
            self._guard(arguments, batch, plan.peak)
            plan.remember(shapes)
        self.env.notes.work += len(plan.runs) * OF_OPERATION
        registers = plan.template.copy()
        registers[: len(arguments)] = arguments
        try:
            for run in self.runs(plan.steps, plan.runs, plan.template):
                run(registers)
        except Exception:  # noqa: BLE001 - found again, with its place, below
            return self._failed(arguments, batch)
        return [registers[output] for output in plan.outputs]

    def _forget(self) -> None:
        self._version = self.env.version
        self._plans.clear()
        self._lazy.clear()
        self._staged.clear()
        self._reduction_known = False

    def _misfit(self, slot: int, tensor: Tensor, batch: int) -> FnRuntimeError:
        found, wanted = tuple(tensor.shape[batch:]), self._shapes[slot]
        text = f"{self.decl.func_name} got an element of shape {found} where {wanted} is declared"
        return FnRuntimeError(text, self.decl.input_span, "STEP306")

    def _check_shapes(self, arguments: Sequence[Tensor], batch: int) -> None:
        for slot, tensor in enumerate(arguments):
            if slot >= len(self._shapes) or tensor.shape[batch:] != self._shapes[slot]:
                raise self._misfit(min(slot, len(self._shapes) - 1), tensor, batch)

    def _guard(self, arguments: Sequence[Tensor], batch: int, peak: int) -> None:
        limit = self.env.limits.numel
        if all(tensor.numel() * peak <= limit for tensor in arguments):
            return
        positions = count(common_shape(t.shape[:batch] for t in arguments))
        # Steps work on compressed values: only a multiple of what a call really holds is refused.
        if positions * peak > 16 * limit:
            text = f"{self.decl.func_name} on {positions:,} elements makes tensors of {positions * peak:,} numbers"
            raise FnRuntimeError(text, self.decl.span, "STEP406")

    def _first_call(self, arguments: list[Tensor], batch: int) -> list[Tensor]:
        self._check_shapes(arguments, batch)
        lead = self._lead(arguments, batch)
        if 0 in lead:
            pairs = zip(self.output_shapes, self.output_dtypes, strict=True)
            return [torch.empty((*lead, *shape), dtype=dtype) for shape, dtype in pairs]
        if batch == 0:
            with self._unchanged(arguments):
                return self.plain(arguments)
        if batch not in self._plans:
            trace = self.trace(arguments, batch)
            self._plans[batch] = None if trace is None else self.plan(trace, [o.slot for o in trace.outputs])
            if trace is not None:
                return [output.tensor for output in trace.outputs]
        return self._position_by_position(arguments, batch, lead)

    def _failed(self, arguments: list[Tensor], batch: int) -> list[Tensor]:
        """A recorded step failed: run plainly, which fails again with a message about one element."""
        results = self._position_by_position(arguments, batch, self._lead(arguments, batch))
        self._plans[batch] = None  # plain torch can do what the tape cannot
        return results

    def _lead(self, arguments: Sequence[Tensor], batch: int) -> Shape:
        try:
            return common_shape(t.shape[:batch] for t in arguments)
        except ValueError as error:
            raise FnRuntimeError(f"{self.decl.func_name}: {error}", self.decl.span) from error

    @property
    def vectorized(self) -> dict[int, bool]:
        """Whether calls with that many batch dimensions run on a tape."""
        return {batch: plan is not None for batch, plan in self._plans.items()}

    def _position_by_position(self, arguments: Sequence[Tensor], batch: int, lead: Shape) -> list[Tensor]:
        with self._unchanged(arguments):
            return self._at_each_position(arguments, batch, lead)

    def _at_each_position(self, arguments: Sequence[Tensor], batch: int, lead: Shape) -> list[Tensor]:
        results: list[list[Tensor]] = []
        for position in itertools.product(*(range(size) for size in lead)):
            element = [t[tuple(0 if t.shape[i] == 1 else p for i, p in enumerate(position))] for t in arguments]
            results.append(self.plain(element))
        joined = (torch.stack(component) for component in zip(*results, strict=True))
        return [t.reshape(*lead, *t.shape[1:]) for t in joined]

    # Folds ------------------------------------------------------------------------------------------------------

    @property
    def reduction(self) -> Reduction | None:
        """How the function folds: ``state[i] (+, max, min, *) g_i(input)`` in every component, or None."""
        if not self._reduction_known or self._version != self.env.version:
            if self._version != self.env.version:
                self._forget()
            self._reduction = recognize(self) if self.decl.has_state else None
            self._reduction_known = True
        return self._reduction

    def stages(self, batch: int) -> Stages | None:
        """Return the function as a staged fold over the last of ``batch`` dimensions, None where that gains nothing."""
        if self._version != self.env.version:
            self._forget()
        if batch not in self._staged:
            self._staged[batch] = staged(self, batch)
        return self._staged[batch]

    def reduce_call(
        self, inputs: Sequence[Tensor | LazyProduct], batch: int, fold_axes: Sequence[int], sizes: Sequence[int]
    ) -> list[Tensor]:
        """Fold the batch dimensions ``fold_axes`` from the init at once; see :meth:`Reduction.fold`.

        Raises:
            ValueError: the function is no reduction.
        """
        reduction = self.reduction
        if reduction is None:
            raise ValueError(f"{self.decl.func_name} is not a reduction")
        return reduction.fold(inputs, batch, fold_axes, sizes)

    def lazy(self, args: Sequence[Sequence[Tensor]], batch: int) -> list[Tensor | LazyProduct]:
        """As :meth:`call`, but leave components that are large sums of products for later.

        A :class:`LazyProduct` can be summed over batch dimensions (by itself or through :meth:`reduce_call`) without
        ever being materialized.
        """
        if self._version != self.env.version:
            self._forget()
        arguments = [t for group in args for t in group]
        if batch not in self._lazy:
            self._lazy[batch] = self._lazy_plan(arguments, batch)
        plans = self._lazy[batch]
        if plans is None:
            return list(self.call(args, batch))
        plan, products = plans
        registers = plan.template.copy()
        registers[: len(arguments)] = arguments
        try:
            for run in self.runs(plan.steps, plan.runs, plan.template):
                run(registers)
        except Exception:  # noqa: BLE001 - the plain call tells what is wrong
            return list(self.call(args, batch))
        return [_deferred(registers, product, batch) for product in products]

    def _lazy_plan(self, arguments: list[Tensor], batch: int) -> list[Any] | None:
        if any(0 in t.shape for t in arguments) or not batch:
            return None
        trace = self.trace(arguments, batch)
        if trace is None:
            return None
        products: list[Any] = []
        slots: list[int] = []
        for output in trace.outputs:
            product = product_of(trace, output.slot)
            if product is None:
                products.append(output.slot)
                slots.append(output.slot)
            else:
                products.append(product)
                slots += [product[0], product[1]]
        if all(isinstance(product, int) for product in products):
            return None
        return [self.plan(trace, slots), products]


def _deferred(registers: list[Any], product: Any, batch: int) -> Tensor | LazyProduct:
    if isinstance(product, int):
        result: Tensor = registers[product]
        return result
    left, right, rank, dims = product
    return LazyProduct(registers[left], registers[right], batch, rank, dims)
