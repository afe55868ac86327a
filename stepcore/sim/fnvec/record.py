"""Records steps on batched values: registers, element ranks, and the memory that values share."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from stepcore.sim.fnvec.batch import Shape, common_shape
from stepcore.sim.fnvec.errors import EvaluationLimits, NoRule
from stepcore.sim.fnvec.machine import Machine, pointer
from stepcore.sim.fnvec.shared import Pairs, once, pairwise
from stepcore.sim.fnvec.tape import TV, NamedFields, Reg, Root, Tape, Tensor


class Recorder(Machine):
    """Turns operations on registers into steps of a tape, for values with ``batch`` leading dimensions."""

    batched = True

    def __init__(self, limits: EvaluationLimits, batch: int, materialized: frozenset[int] = frozenset()) -> None:
        super().__init__(limits)
        self.batch = batch
        self.tape = Tape()
        self.place: Any = None
        self.mask: TV | None = None
        self.peak = 1
        self.mutations = 0
        self._materialized = materialized
        self._ordinal = 0
        self._roots: dict[int, Root] = {}
        self._raw_origin: dict[int, int] = {}
        self._consumed: set[int] = set()
        self._lifted: dict[tuple[int, int], Reg] = {}
        self._keep: list[Any] = []
        self._arguments: list[Reg] = []
        self.values: dict[int, TV] = {}
        self._full: Reg | None = None

    def argument(self, tensor: Tensor) -> TV:
        """Return an argument of the body as a traced value that must not change in place."""
        reg = Reg(self.tape.slot(), tensor)
        self._arguments.append(reg)
        position = tuple(size // 2 for size in tensor.shape[: self.batch])
        root = Root(owned=False, ordinal=-1, pointer=pointer(tensor))
        self._roots.setdefault(root.pointer, root)
        return TV(reg, tensor[position], root)

    def emit(self, function: Callable[..., Any], *operands: Any, **kwargs: Any) -> Reg:
        """Record ``function(*operands, **kwargs)`` on registers and constants; it returns one tensor."""
        self._consume(operands)
        tag = "" if kwargs else _tag(function)
        return self.tape.emit(_with(function, kwargs), [_reg(o) for o in operands], self.place, tag)

    def emit_many(self, function: Callable[..., Any], *operands: Any, **kwargs: Any) -> tuple[Reg, ...]:
        """As :meth:`emit` for a function that returns several tensors."""
        self._consume(operands)
        return self.tape.emit_many(_with(function, kwargs), [_reg(o) for o in operands], self.place, _tag(function))

    def _consume(self, operands: Sequence[Any]) -> None:
        for operand in operands:
            if isinstance(operand, torch.Tensor):
                self._consumed.add(pointer(operand))
                self._keep.append(operand)

    def lift(self, value: Any, rank: int) -> Any:
        """Return ``value`` with element rank ``rank``: size-1 dimensions are inserted behind the batch ones."""
        if type(value) is not TV:
            return value
        if value.rank > rank:
            raise NoRule
        return self.lift_reg(value.reg, value.rank, rank)

    def lift_reg(self, reg: Reg, have: int, rank: int) -> Reg:
        """As :meth:`lift` for a register whose element rank is ``have``."""
        if have == rank:
            return reg
        known = self._lifted.get((reg.slot, rank))
        if known is None:
            if rank - have == 1:
                known = self.emit(torch.unsqueeze, reg, self.batch)
            else:
                prefix = (slice(None),) * self.batch + (None,) * (rank - have)
                known = self.emit(lambda x: x[prefix], reg)
            self._lifted[reg.slot, rank] = known
        return known

    def lifted(self) -> Iterable[Reg]:
        """Return the registers that :meth:`lift` made."""
        return self._lifted.values()

    def full(self) -> Reg:
        """Return the register of the batch shape that all arguments together have."""
        if self._full is None:
            batch = self.batch

            def shape(*arguments: Tensor) -> Shape:
                return common_shape([argument.shape[:batch] for argument in arguments])

            self._full = self.tape.emit(shape, self._arguments, self.place, "shape")
        return self._full

    def wrap(self, result: Any, expected: Any, done: Pairs | None = None) -> Any:
        """Return a rule's result as traced values, checked against the probe's; pairs of lists ``done`` once."""
        if isinstance(result, TV):
            return result
        if type(result) is Reg:
            if not isinstance(expected, torch.Tensor):
                raise NoRule
            return self._value(result, expected)
        if isinstance(result, list | tuple):
            if not isinstance(expected, list | tuple) or len(result) != len(expected):
                raise NoRule
            names = result_fields(expected)

            def made(values: list[Any]) -> Any:
                return NamedFields.of(values, names) if len(names) == len(values) else type(expected)(values)

            return pairwise(self.wrap, result, expected, made, done)
        return self._note_raw(result)

    def _value(self, reg: Reg, probe: Tensor) -> TV:
        tensor = reg.tensor
        if tensor.shape[self.batch :] != probe.shape or tensor.dim() != self.batch + probe.dim():
            raise NoRule
        if tensor.dtype != probe.dtype:
            # A number (rank 0) takes part in type promotion more weakly than a tensor of it does.
            if tensor.dtype.is_floating_point != probe.dtype.is_floating_point or probe.dtype == torch.bool:
                raise NoRule
            reg = self.emit(torch.Tensor.to, reg, probe.dtype)
        address = pointer(reg.tensor)
        root = self._roots.get(address)
        if root is None:
            root = Root(owned=True, ordinal=self._ordinal, pointer=address)
            if self._ordinal in self._materialized:
                reg = self._materialize(reg, tuple(probe.shape))
                root.full, root.pointer = True, pointer(reg.tensor)
            self._roots[root.pointer] = root
        self._keep.append(reg.tensor)
        self.peak = max(self.peak, probe.numel())
        value = TV(reg, probe, root)
        self.values[reg.slot] = value
        return value

    def _materialize(self, value: Any, shape: tuple[int, ...]) -> Reg:
        return self.emit(lambda x, full: x.expand(*full, *shape).clone(), value, self.full())

    def _note_raw(self, result: Any) -> Any:
        """Remember which operation made an unbatched tensor; batch it where it changes in place later."""
        if isinstance(result, torch.Tensor):
            address = pointer(result)
            if address in self.protected or not result.numel():
                return result
            self._keep.append(result)
            if address not in self._raw_origin:
                self._raw_origin[address] = self._ordinal
                if self._ordinal in self._materialized:
                    reg = self._materialize(result, tuple(result.shape))
                    root = Root(owned=True, ordinal=self._ordinal, full=True, pointer=pointer(reg.tensor))
                    self._roots[root.pointer] = root
                    self._keep.append(reg.tensor)
                    return TV(reg, result.clone(), root)
            return result
        if isinstance(result, list | tuple) and any(isinstance(item, torch.Tensor) for item in result):
            for item in result:
                if isinstance(item, torch.Tensor):
                    self._keep.append(item)
                    self._raw_origin.setdefault(pointer(item), self._ordinal)
        return result


def result_fields(value: Any) -> tuple[str, ...]:
    """Return the names of the fields of what ``torch.topk`` and the like return, in their order; of all others none."""
    if isinstance(value, NamedFields):
        return value.names
    is_result = isinstance(value, tuple) and type(value).__module__ == "torch.return_types"
    return type(value).__match_args__ if is_result else ()


def has_traced(values: Any, entered: dict[int, bool] | None = None) -> bool:
    """Return whether a traced value is among ``values`` or in the lists among them, each ``entered`` once."""
    for value in values:
        kind = type(value)
        if kind is TV:
            return True
        if kind is list or kind is tuple or kind is NamedFields:
            entered = {} if entered is None else entered
            if once(value, entered):
                if has_traced(value, entered):
                    return True
                entered[id(value)] = False
        if kind is slice and has_traced((value.start, value.stop, value.step)):
            return True
    return False


def probe_of(value: Any, done: dict[int, Any] | None = None) -> Any:
    """Return the plain counterpart of a value; lists are converted item by item, and shared ones (``done``) stay so."""
    kind = type(value)
    if kind is TV:
        return value.probe
    if kind is not list and kind is not tuple and kind is not NamedFields:
        return value
    done = {} if done is None else done
    if id(value) not in done:
        items = [probe_of(item, done) for item in value]
        done[id(value)] = items if kind is list else tuple(items)
    return done[id(value)]


def _reg(value: Any) -> Any:
    return value.reg if type(value) is TV else value


def _with(function: Callable[..., Any], kwargs: dict[str, Any]) -> Callable[..., Any]:
    return functools.partial(function, **kwargs) if kwargs else function


def _tag(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)
