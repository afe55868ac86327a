"""Bodies recorded on batched values, and what a call of a recorded one runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch

from stepcore.sim.fnvec.bodies import Body
from stepcore.sim.fnvec.contract import Product
from stepcore.sim.fnvec.errors import Changed, FnRuntimeError, NoRule, Restart
from stepcore.sim.fnvec.interp import Interpreter
from stepcore.sim.fnvec.tape import TV, Reg, TapeStep, Tensor
from stepcore.sim.fnvec.trace import Tracer
from stepcore.sim.fnvec.watch import MemoryWatch, is_small

_MAX_RESTARTS = 64
_MOST_SHAPES = 64


@dataclass(slots=True)
class Trace:
    """A body recorded for one number of batch dimensions: the tracer and the registers of the results."""

    tracer: Tracer
    outputs: list[Reg]


@dataclass(slots=True)
class CallPlan:
    """What a call runs: steps on a copy of ``template`` whose first slots are the arguments.

    ``shapes`` are those of the arguments of earlier calls, which need no second check.
    """

    steps: list[TapeStep]
    runs: list[Callable[[list[Any]], None]]
    template: list[Any]
    outputs: list[int]
    peak: int
    shapes: set[tuple[torch.Size, ...]] = field(default_factory=set)

    def remember(self, shapes: tuple[torch.Size, ...]) -> None:
        """Note shapes of arguments that were checked; branches of a Merge and the sizes of a run take turns."""
        if len(self.shapes) == _MOST_SHAPES:
            self.shapes.clear()
        self.shapes.add(shapes)


class RecordedBody(Body):
    """An element function that can be recorded for any number of batch dimensions."""

    @contextmanager
    def _unchanged(self, arguments: Sequence[Tensor]) -> Iterator[None]:
        """Refuse a body that changes its data. Recorded steps are pure: only where a body is interpreted, on
        values or to be recorded, something could slip through.
        """
        # Large weights, and what lies beside an argument in memory that is watched, are left to their owner, which
        # looks once per run.
        small = (weight for weight in self.env.tensors() if is_small(weight))
        watch = MemoryWatch([*arguments, *small], self.env.watched)
        try:
            yield
        finally:
            intact = watch.intact()
            if not intact:
                watch.restore()
                text = f"{self.decl.func_name} changes its data in place: functions are pure; compute a new tensor"
                raise Changed(text, self.decl.span, "STEP310")

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
        if self._checked(value.probe, index, interpreter) is not value.probe:
            raise NoRule  # it is of another type than declared
        tensor = value.reg.tensor
        position = tuple(size // 2 for size in tensor.shape[: tracer.batch])
        if not _agree(tensor[position], value.probe):
            raise NoRule
        return value.reg

    def plan(self, trace: Trace, outputs: list[int]) -> CallPlan:
        """Return what a call runs to fill the registers ``outputs``."""
        tape = trace.tracer.tape
        steps = tape.live_steps(outputs)
        return CallPlan(steps, [step.run for step in steps], tape.template, outputs, trace.tracer.peak)


def product_of(trace: Trace, slot: int) -> tuple[int, int, int, tuple[int, ...]] | None:
    """Return the slots of the factors, rank and summed dimensions when a register is a contraction."""
    value = trace.tracer.values.get(slot)
    product: Product | None = value.product() if value is not None and value.product is not None else None
    if product is None:
        return None
    tape = trace.tracer.tape
    return tape.operand(product.left), tape.operand(product.right), product.rank, product.dims


def _agree(found: Tensor, expected: Tensor) -> bool:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return False
    if not expected.is_floating_point():
        return torch.equal(found, expected)
    if not expected.numel():
        return True
    finite = torch.nan_to_num(expected.double().abs(), 0.0, 0.0, 0.0)
    return torch.allclose(found, expected, 1e-3, 1e-4 * (1.0 + float(finite.max())), equal_nan=True)
