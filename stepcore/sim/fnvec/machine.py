"""Carries out the operations of a body on plain tensors: one position, or a block without batch.

:class:`Machine` is also the base of the tracer, which overrides it for values with batch dimensions. What breaks a
rule or a limit of the language raises ``EvaluationRefused``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch

from stepcore.fn import allow
from stepcore.fn.placement import PERCENT
from stepcore.fn.terms import breach
from stepcore.sim.fnvec import guard
from stepcore.sim.fnvec.errors import EvaluationLimits, EvaluationRefused
from stepcore.sim.fnvec.names import Operation, method
from stepcore.sim.fnvec.shared import countable, leaves

if TYPE_CHECKING:
    from stepcore.sim.conditions import Noting

_BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "floor_divide": operator.floordiv, "remainder": operator.mod, "pow": operator.pow, "matmul": operator.matmul,
    "bitwise_and": operator.and_, "bitwise_or": operator.or_, "bitwise_xor": operator.xor,
    "bitwise_left_shift": operator.lshift, "bitwise_right_shift": operator.rshift,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip
BINARY: Final[dict[str, Operation]] = {name: Operation(name, function) for name, function in _BINARY.items()}
COMPARING: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
UNARY: Final[dict[str, Operation]] = {
    "neg": Operation("neg", operator.neg),
    "bitwise_not": Operation("bitwise_not", operator.invert),
    "positive": Operation("positive", operator.pos),
}
# In-place operator statements: x += y on a tensor changes that tensor.
INPLACE: Final[dict[str, str]] = {
    "add": "add_", "sub": "sub_", "mul": "mul_", "div": "div_", "floor_divide": "floor_divide_",
    "remainder": "remainder_", "pow": "pow_", "bitwise_and": "bitwise_and_", "bitwise_or": "bitwise_or_",
    "bitwise_xor": "bitwise_xor_",
}  # fmt: skip


class Machine:
    """Plain execution. ``protected`` holds the memory that a body must not change (inputs, state, weights).

    ``noting`` is told which expression is carried out, if it is there.
    """

    batched = False

    def __init__(self, limits: EvaluationLimits, random: bool = False, noting: Noting | None = None) -> None:
        self.limits = limits
        self.random = random
        self.noting = noting
        self.protected: set[int] = set()

    def call(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Apply a torch function.

        Raises:
            EvaluationRefused: against the language or too large. Errors of torch itself pass through.
        """
        self.admit(op, args, kwargs)
        guard.check(op.name, args, kwargs, self.limits, op.plain)
        if op.name == "tolist" and self.noting is not None:  # no operation that a dispatch mode would see
            self.noting.leave(args[0])
        if allow.is_inplace(op.name) and isinstance(args[0], torch.Tensor):
            return self.inplace(op, args, kwargs)
        result = guard.plain(op.plain(*args, **kwargs))
        if isinstance(result, torch.nn.Module):
            result.requires_grad_(False)  # nothing is trained here
        return result

    def admit(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        """Let pass what writes nowhere and draws nothing, or draws where that is legal.

        Raises:
            EvaluationRefused: any other call.
        """
        if op.random and not self.random:
            raise EvaluationRefused(f"{op.name} draws random numbers: element functions are pure", "STEP304")
        if "out" in kwargs:
            raise EvaluationRefused("out= writes into another tensor; use the returned value", "STEP304")
        if op.path:
            found = breach(op.path, args, kwargs, random=self.random)
            if found is not None:
                raise EvaluationRefused(found[1], found[0])

    def binary(self, name: str, left: Any, right: Any) -> Any:
        """Apply a Python operator (``add``, ``matmul``, ``lt``...) to tensors, numbers, lists or strings."""
        if isinstance(left, torch.Tensor) or isinstance(right, torch.Tensor):
            return self.call(BINARY[name], (left, right), {})
        return self.numbers(name, left, right)

    def numbers(self, name: str, left: Any, right: Any) -> Any:
        """Apply an operator to plain Python values within the limits."""
        limits = self.limits
        if name in COMPARING:
            countable(left, right)
        if name == "pow" and isinstance(left, int) and isinstance(right, int) and right > 0:
            if left.bit_length() * right > limits.bits:
                raise EvaluationRefused(f"an integer of more than {limits.bits} bits", "STEP406")
        elif name == "bitwise_left_shift" and isinstance(right, int) and right > limits.bits:
            raise EvaluationRefused(f"an integer of more than {limits.bits} bits", "STEP406")
        elif name == "mul" and isinstance(left, list | tuple | str) | isinstance(right, list | tuple | str):
            sequence, count = (left, right) if isinstance(left, list | tuple | str) else (right, left)
            if isinstance(count, int) and len(sequence) * count > limits.sequence:
                raise EvaluationRefused(f"a sequence of more than {limits.sequence:,} items", "STEP405")
        elif name == "remainder" and isinstance(left, str):
            raise EvaluationRefused(PERCENT, "STEP302")
        value = guard.plain(_BINARY[name](left, right))
        if type(value) is int and value.bit_length() > limits.bits:
            raise EvaluationRefused(f"an integer of more than {limits.bits} bits", "STEP406")
        if isinstance(value, list | tuple | str) and len(value) > limits.sequence:
            raise EvaluationRefused(f"a sequence of more than {limits.sequence:,} items", "STEP405")
        return value

    def unary(self, name: str, value: Any) -> Any:
        """Apply a prefix operator."""
        return self.call(UNARY[name], (value,), {}) if isinstance(value, torch.Tensor) else UNARY[name].plain(value)

    def inplace(self, op: Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Apply an operation that changes ``args[0]``, after making sure that the body made it."""
        self.own(args[0])
        return op.plain(*args, **kwargs)

    def own(self, tensor: torch.Tensor) -> None:
        """Refuse a tensor that the body did not make (STEP310)."""
        if tensor.numel() and pointer(tensor) in self.protected:
            raise EvaluationRefused("inputs, state and weights must not change in place; work on a clone()", "STEP310")

    def fits(self, count: int) -> None:
        """Refuse a list or text of so many items, if that is too long."""
        if count > self.limits.sequence:
            raise EvaluationRefused(f"a sequence of more than {self.limits.sequence:,} items", "STEP405")

    def augment(self, name: str, target: Any, value: Any) -> Any:
        """Carry out ``target OP= value`` and return what the target's name is bound to afterwards."""
        if isinstance(target, list) and name in ("add", "mul") and isinstance(value, list | tuple | int):
            made = self.numbers(name, target, list(value) if isinstance(value, tuple) else value)
            target[:] = made  # the same list, by whatever other name
            return target
        if isinstance(target, dict) and name == "bitwise_or" and isinstance(value, dict):
            target.update(self.numbers(name, target, value))  # the same dictionary, too
            return target
        if isinstance(target, torch.Tensor):
            op = method(INPLACE[name]) if name in INPLACE else None
            if op is None:
                return self.binary(name, target, value)
            return self.inplace(op, (target, value), {})
        return self.binary(name, target, value)

    def get_item(self, base: Any, index: Any) -> Any:
        """Return ``base[index]``."""
        if isinstance(index, list) and isinstance(base, torch.Tensor):
            index = index_list(index)
        elif isinstance(index, tuple):
            countable(index)  # a key is hashed, and torch goes through what indexes a tensor
        return base[index]

    def set_item(self, base: Any, index: Any, value: Any) -> None:
        """Carry out ``base[index] = value`` on a tensor, list or dictionary of the body."""
        if isinstance(base, torch.Tensor):
            self.own(base)
            index = index_list(index) if isinstance(index, list) else index
        if isinstance(index, tuple):
            countable(index)
        if isinstance(base, list) and isinstance(index, slice) and isinstance(value, list | tuple | str | range):
            self.fits(len(base) + len(value))
        base[index] = value

    def module(self, module: torch.nn.Module, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Call a helper object such as ``torch.nn.GELU()``."""
        guard.check_module(module, args, kwargs, self.limits)
        return guard.plain(module(*args, **kwargs))

    def attribute(self, value: torch.Tensor, name: str) -> Any:
        """Return an allowed attribute of a tensor."""
        return getattr(value, name)


def index_list(index: list[Any]) -> list[Any]:
    """Return a list that indexes a tensor; older releases of torch read lists of slices as tuples.

    Raises:
        EvaluationRefused: it holds anything but numbers and lists of numbers.
    """
    countable(index)
    for item in leaves(index):
        if not isinstance(item, int):
            raise EvaluationRefused("a list that indexes a tensor holds numbers; write a tuple for several dimensions")
    return index


def pointer(tensor: torch.Tensor) -> int:
    """Return the address of the memory that ``tensor`` views; equal for all views of one tensor."""
    return tensor.untyped_storage().data_ptr()
