"""Element functions compiled for whole streams: :class:`CompiledFn`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from stepcore.fn.decl import FnDecl
from stepcore.sim.fnvec.batch import Shape, common_shape, count
from stepcore.sim.fnvec.bodies import Body
from stepcore.sim.fnvec.contract import LazyProduct, Product
from stepcore.sim.fnvec.env import FnEnv
from stepcore.sim.fnvec.errors import Changed, FnRuntimeError, NoRule, Restart
from stepcore.sim.fnvec.interp import Interpreter
from stepcore.sim.fnvec.reduction import Reduction, recognize
from stepcore.sim.fnvec.rules.table import load
from stepcore.sim.fnvec.stages import Stages, staged
from stepcore.sim.fnvec.tape import TV, Reg, Step, Tensor
from stepcore.sim.fnvec.trace import Tracer
from stepcore.sim.fnvec.watch import Watch, is_small

load()
_MAX_RESTARTS = 64


@dataclass(slots=True)
class Trace:
    """A body recorded for one number of batch dimensions: the tracer and the registers of the results."""

    tracer: Tracer
    outputs: list[Reg]


@dataclass(slots=True)
class Plan:
    """What a call runs: steps on a copy of ``template`` whose first slots are the arguments.

    ``shapes`` are those of the arguments of the last call, which need no second check.
    """

    steps: list[Step]
    runs: list[Callable[[list[Any]], None]]
    template: list[Any]
    outputs: list[int]
    peak: int
    shapes: list[torch.Size] = field(default_factory=list)


class CompiledFn(Body):
    """One element function, ready to run on all positions of a stream at once.

    The element shapes are those of the declaration bound by ``env.bindings``. ``vectorized`` tells after a call
    whether that number of batch dimensions runs on the tape (True) or position by position.
    """

    def __init__(self, decl: FnDecl, env: FnEnv) -> None:
        super().__init__(decl, env)
        self._version = env.version
        self._plans: dict[int, Plan | None] = {}
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
        shapes = [tensor.shape for tensor in arguments]
        if shapes != plan.shapes:
            self._check_shapes(arguments, batch)
            self._guard(arguments, batch, plan.peak)
            plan.shapes = shapes
        registers = plan.template.copy()
        registers[: len(arguments)] = arguments
        try:
            for run in plan.runs:
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
            self._plans[batch] = None if trace is None else self._plan(trace, [o.slot for o in trace.outputs])
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

    @contextmanager
    def _unchanged(self, arguments: Sequence[Tensor]) -> Iterator[None]:
        """Refuse a body that changes its data. Recorded steps are pure: only where a body is interpreted, on
        values or to be recorded, something could slip through.
        """
        # Large weights are left to their owner, which looks once per run.
        watch = Watch([*arguments, *(weight for weight in self.env.tensors() if is_small(weight))])
        try:
            yield
        finally:
            intact = watch.intact()
            if not intact:
                watch.restore()
                text = f"{self.decl.func_name} changes its data in place: functions are pure; compute a new tensor"
                raise Changed(text, self.decl.span, "STEP310")

    def _at_each_position(self, arguments: Sequence[Tensor], batch: int, lead: Shape) -> list[Tensor]:
        results: list[list[Tensor]] = []
        for position in itertools.product(*(range(size) for size in lead)):
            element = [t[tuple(0 if t.shape[i] == 1 else p for i, p in enumerate(position))] for t in arguments]
            results.append(self.plain(element))
        joined = (torch.stack(component) for component in zip(*results, strict=True))
        return [t.reshape(*lead, *t.shape[1:]) for t in joined]

    # Tracing ----------------------------------------------------------------------------------------------------

    def trace(self, arguments: Sequence[Tensor], batch: int) -> Trace | None:
        """Record the body on these arguments; None where it has to run position by position."""
        materialized: frozenset[int] = frozenset()
        for _ in range(_MAX_RESTARTS):
            tracer = Tracer(self.env.limits, batch, materialized)
            tracer.protected = self.env.protected()
            try:
                with self._unchanged(arguments), self.env.default_dtype():
                    return self._trace(tracer, arguments)
            except Restart as again:
                if again.ordinal in materialized:
                    return None
                materialized |= {again.ordinal}
            except Changed:
                raise
            except (NoRule, FnRuntimeError, RuntimeError, ValueError, IndexError, TypeError, AttributeError):
                # Whatever is wrong shows again, with a message about one element, in the plain run.
                return None
        return None

    def _trace(self, tracer: Tracer, arguments: Sequence[Tensor]) -> Trace:
        traced = [tracer.argument(tensor) for tensor in arguments]
        interpreter = self._interpreter(tracer)
        value = interpreter.run(self.body, self._scope(traced, interpreter))
        outputs = [self._output(tracer, v, i, interpreter) for i, v in enumerate(self._returned(value, interpreter))]
        return Trace(tracer, outputs)

    def _output(self, tracer: Tracer, value: Any, index: int, interpreter: Interpreter) -> Reg:
        if type(value) is not TV:
            checked = self._checked(value, index, interpreter)
            constant = checked.reshape((1,) * tracer.batch + tuple(checked.shape)).clone()
            return Reg(tracer.tape.constant(constant), constant)
        self._checked(value.probe, index, interpreter)
        tensor = value.reg.tensor
        position = tuple(size // 2 for size in tensor.shape[: tracer.batch])
        if not _agree(tensor[position], value.probe):
            raise NoRule
        return value.reg

    def _plan(self, trace: Trace, outputs: list[int]) -> Plan:
        tape = trace.tracer.tape
        steps = tape.live_steps(outputs)
        return Plan(steps, [step.run for step in steps], tape.template, outputs, trace.tracer.peak)

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
            for run in plan.runs:
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
        return [self._plan(trace, slots), products]


def product_of(trace: Trace, slot: int) -> tuple[int, int, int, tuple[int, ...]] | None:
    """Return the slots of the factors, rank and summed dimensions when a register is a contraction."""
    value = trace.tracer.values.get(slot)
    product: Product | None = value.product() if value is not None and value.product is not None else None
    if product is None:
        return None
    tape = trace.tracer.tape
    return tape.operand(product.left), tape.operand(product.right), product.rank, product.dims


def _deferred(registers: list[Any], product: Any, batch: int) -> Tensor | LazyProduct:
    if isinstance(product, int):
        result: Tensor = registers[product]
        return result
    left, right, rank, dims = product
    return LazyProduct(registers[left], registers[right], batch, rank, dims)


def _agree(found: Tensor, expected: Tensor) -> bool:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if not expected.is_floating_point():
        return torch.equal(found, expected)
    if not expected.numel():
        return True
    finite = torch.nan_to_num(expected.double().abs(), 0.0, 0.0, 0.0)
    return torch.allclose(found, expected, 1e-3, 1e-4 * (1.0 + float(finite.max())), equal_nan=True)
