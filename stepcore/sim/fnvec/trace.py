"""Runs a body once on batched values and records it: see :mod:`stepcore.sim.fnvec.tape`.

Every operation runs twice while tracing: by its batching rule on the whole batch, and by plain torch on the probe,
the values of a single position. Shape and dtype must agree after each operation, values at the end. A rule
that would be wrong is therefore found out, and the body falls back to running position by position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch

from stepcore.fn import allow
from stepcore.sim.fnvec import guard
from stepcore.sim.fnvec.errors import EvaluationRefused, NoRule, Restart
from stepcore.sim.fnvec.machine import BINARY, INPLACE, UNARY, pointer
from stepcore.sim.fnvec.names import Operation, method
from stepcore.sim.fnvec.record import Recorder, has_traced, probe_of
from stepcore.sim.fnvec.shared import Pairs, pairwise
from stepcore.sim.fnvec.tape import TV, Reg, Root, Tensor

Rule = Callable[["Tracer", Operation, Sequence[Any], dict[str, Any], Any], Any]
RULES: dict[str, Rule] = {}
# ``get(tracer, base, index)`` and ``set(tracer, base, index, value)``, registered by the rules of indexing.
INDEXING: dict[Literal["get", "set"], Callable[..., Any]] = {}
# Answers that depend on the shape only; the probe gives them.
_SHAPE_QUERIES = allow.names(
    "size dim ndimension numel nelement is_contiguous stride element_size is_tensor is_floating_point type"
)
_CONCRETE = allow.names("item tolist equal allclose nonzero unique masked_select")


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the batching rule of operations."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


class Tracer(Recorder):
    """Records operations on values with ``batch`` leading dimensions."""

    # Operations -------------------------------------------------------------------------------------------------

    def call(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Apply a torch function: recorded when an argument is batched, at once otherwise."""
        self._ordinal += 1
        if not (has_traced(args) or (kwargs and has_traced(kwargs.values()))):
            result = self._raw(op, args, kwargs)
            return self._note_raw(result)
        if op.name in _CONCRETE:
            raise NoRule
        if "out" in kwargs or op.random:
            return super().call(op, args, kwargs)  # refuses with the message that it has for this
        if allow.is_inplace(op.name):
            return self.change(op, args, kwargs)
        expected = self._probe(op, args, kwargs)
        if op.name in _SHAPE_QUERIES and not isinstance(expected, torch.Tensor):  # x.type(torch.int32) is a tensor
            return expected
        return self.wrap(self._apply(op, args, kwargs, expected), expected)

    def _probe(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        plain_args = [probe_of(a) for a in args]
        plain_kwargs = {name: probe_of(value) for name, value in kwargs.items()} if kwargs else kwargs
        self.admit(op, plain_args, plain_kwargs)
        guard.check(op.name, plain_args, plain_kwargs, self.limits, op.plain)
        return guard.plain(op.plain(*plain_args, **plain_kwargs))

    def _apply(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
        found = RULES.get(op.name.removeprefix("aten."))
        if found is None:
            raise NoRule
        return found(self, op, args, kwargs, expected)

    def _raw(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        return super().call(op, args, kwargs)

    def binary(self, name: str, left: Any, right: Any) -> Any:
        """Apply a Python operator."""
        if type(left) is TV or type(right) is TV or isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            return self.call(BINARY[name], (left, right), {})
        if has_traced((left, right)) and name not in ("add", "mul"):
            raise NoRule
        return self.numbers(name, left, right)

    def unary(self, name: str, value: Any) -> Any:
        """Apply a prefix operator."""
        if type(value) is TV:
            return self.call(UNARY[name], (value,), {})
        return super().unary(name, value)

    def attribute(self, value: Any, name: str) -> Any:
        """Return an allowed attribute of a tensor."""
        if type(value) is not TV:
            return self._note_raw(super().attribute(value, name))
        if name in ("T", "mT", "H", "mH", "real"):
            self._ordinal += 1
            expected = getattr(value.probe, name)
            if name == "real" or value.rank < 2:
                return self.wrap(value.reg, expected)
            return self.wrap(self.emit(_view_transposed, value.reg, *_last_two(name, value.rank)), expected)
        return getattr(value.probe, name)

    def module(self, module: torch.nn.Module, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a helper object."""
        self._ordinal += 1
        if not has_traced(args) and not has_traced(kwargs.values()):
            return self._note_raw(super().module(module, args, kwargs))
        name = f"nn.{type(module).__name__}"
        found = RULES.get(name)
        if found is None:
            raise NoRule
        expected = module(*[probe_of(a) for a in args], **{k: probe_of(v) for k, v in kwargs.items()})
        return self.wrap(found(self, Operation(name, module), args, kwargs, expected), expected)

    # Changes in place -------------------------------------------------------------------------------------------

    def change(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Apply an in-place method: its pure form, then a copy into the target."""
        target = args[0]
        base = op.name.removeprefix("aten.").removesuffix("_")
        if type(target) is not TV:
            raise self._need_batch(target)
        if base == "copy":
            new: Any = args[1]
        elif base in ("fill", "zero"):
            new = args[1] if base == "fill" else 0.0
        else:
            pure = method(base)
            if pure is None:
                raise NoRule
            expected = self._probe(pure, args, kwargs)
            applied = self._apply(pure, args, kwargs, expected)
            if type(applied) not in (Reg, TV):
                raise NoRule
            new = applied if type(applied) is TV else TV(applied, expected, Root(owned=True, ordinal=self._ordinal))
        plain_kwargs = {name: probe_of(value) for name, value in kwargs.items()}
        self.write(target, new, lambda: op.plain(*[probe_of(a) for a in args], **plain_kwargs))
        return target

    def writable(self, target: TV) -> None:
        """Make sure that ``target`` may change (``EvaluationRefused``) and has room for the batch (``Restart``)."""
        if not target.root.owned:
            raise EvaluationRefused("inputs, state and weights must not change in place; work on a clone()", "STEP310")
        if not target.root.full:
            raise Restart(target.root.ordinal)

    def write(self, target: TV, value: Any, plain: Callable[[], Any]) -> None:
        """Overwrite ``target`` where the mask holds; ``plain`` does the same to the probes."""
        self.writable(target)
        if type(value) is TV and value.rank > target.rank:
            raise NoRule
        new = self.lift(value, target.rank)
        self.mutations += 1
        if self.mask is None:
            plain()
        else:
            if self.mask.probe.item():
                plain()
            new = self.emit(torch.where, self.lift(self.mask, target.rank), new, target.reg)
        self._consume((new,))
        if not isinstance(new, Reg | torch.Tensor):
            self.tape.effect(torch.Tensor.fill_, (target.reg, new), self.place, "fill")
        else:
            self.tape.effect(torch.Tensor.copy_, (target.reg, new), self.place, "copy")

    def _need_batch(self, target: Any) -> Exception:
        address = pointer(target)
        if address in self.protected or address not in self._raw_origin:
            return EvaluationRefused("inputs, state and weights must not change in place; work on a clone()", "STEP310")
        return Restart(self._raw_origin[address])

    def inplace(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Change an unbatched tensor: at once while no recorded step has read it."""
        target = args[0]
        self.own(target)
        address = pointer(target)
        if address in self._consumed or self.mask is not None:
            raise self._need_batch(target)
        return op.plain(*args, **kwargs)

    def augment(self, name: str, target: Any, value: Any) -> Any:
        """Carry out ``target OP= value``."""
        if type(target) is TV or (isinstance(target, torch.Tensor) and type(value) is TV):
            op = method(INPLACE[name]) if name in INPLACE else None
            return self.binary(name, target, value) if op is None else self.call(op, (target, value), {})
        if isinstance(target, list) and self.mask is not None:
            raise NoRule
        if isinstance(target, torch.Tensor):
            self._ordinal += 1
        return super().augment(name, target, value)

    def get_item(self, base: Any, index: Any) -> Any:
        """Return ``base[index]``."""
        if type(base) is not TV and not has_traced(index if isinstance(index, tuple) else (index,)):
            return self._note_raw(super().get_item(base, index)) if isinstance(base, torch.Tensor) else base[index]
        self._ordinal += 1
        return INDEXING["get"](self, base, index)

    def set_item(self, base: Any, index: Any, value: Any) -> None:
        """Carry out ``base[index] = value``."""
        traced = type(base) is TV or type(value) is TV or has_traced(index if isinstance(index, tuple) else (index,))
        if not isinstance(base, torch.Tensor | TV):
            if self.mask is not None or type(index) is TV:
                raise NoRule
            super().set_item(base, index, value)
            return
        self._ordinal += 1
        if not traced and not isinstance(base, TV) and pointer(base) not in self._consumed and self.mask is None:
            super().set_item(base, index, value)
            return
        if not isinstance(base, TV):
            raise self._need_batch(base)
        INDEXING["set"](self, base, index, value)

    # Conditions -------------------------------------------------------------------------------------------------

    def truth(self, condition: TV) -> TV:
        """Return a condition as a boolean of rank 0."""
        if condition.probe.numel() != 1:
            raise NoRule
        reg = condition.reg
        if condition.rank:
            batch = self.batch
            reg = self.emit(lambda x: x.reshape(x.shape[:batch]), reg)
        probe = condition.probe.reshape(())
        if probe.dtype != torch.bool:
            reg, probe = self.emit(torch.ne, reg, 0), probe != 0
        return TV(reg, probe, Root(owned=False, ordinal=-1))

    def choose(self, condition: TV, yes: Any, no: Any, done: Pairs | None = None) -> Any:
        """Return ``yes`` where the condition holds, ``no`` elsewhere; lists by component, pairs ``done`` once."""
        if yes is no:
            return yes
        if isinstance(yes, list | tuple):
            if type(yes) is not type(no) or len(yes) != len(no):
                raise NoRule
            return pairwise(lambda a, b, pairs: self.choose(condition, a, b, pairs), yes, no, type(yes), done)
        if not isinstance(yes, torch.Tensor | TV) and not isinstance(no, torch.Tensor | TV):
            if type(yes) is type(no) and yes == no:
                return yes
            if not (isinstance(yes, int | float) and type(yes) is type(no)):
                raise NoRule
        a, b = probe_of(yes), probe_of(no)
        if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (a.dtype, a.shape) != (b.dtype, b.shape):
            raise NoRule
        if isinstance(a, torch.Tensor) != isinstance(b, torch.Tensor):
            raise NoRule
        self._ordinal += 1
        probe = torch.where(condition.probe, a, b)
        rank = probe.dim()
        lifted = self.lift(condition, rank)
        return self.wrap(self.emit(torch.where, lifted, self.lift(yes, rank), self.lift(no, rank)), probe)


def _last_two(name: str, rank: int) -> tuple[int, ...]:
    if name in ("T", "H"):
        return tuple(range(-1, -rank - 1, -1))
    return (*range(-rank, -2), -1, -2)


def _view_transposed(x: Tensor, *order: int) -> Tensor:
    lead = x.dim() - len(order)
    return x.permute(*range(lead), *(x.dim() + d for d in order))
