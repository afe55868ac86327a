"""Values of a traced body and the tape that replays it.

A body is interpreted once on its first arguments. Every operation on a batched value is recorded as one step on
registers; whatever does not depend on the arguments (sizes, lists, weights) is computed during that first run and
stands on the tape as a constant. Later calls only run the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor
Registers: TypeAlias = list[Any]


class Reg:
    """A register: its slot, and the tensor that it held while the body was traced."""

    __slots__ = ("slot", "tensor")

    def __init__(self, slot: int, tensor: Tensor) -> None:
        self.slot = slot
        self.tensor = tensor


@dataclass(slots=True)
class Root:
    """Memory that one or more values view.

    ``owned``: the body made it, so it may change in place. ``full``: it has the whole batch shape, so that
    any batched value can be written into it. ``ordinal``: number of the operation that made it.
    """

    owned: bool
    ordinal: int
    full: bool = False
    pointer: int = 0


class TV:
    """A traced value: a tensor with leading batch dimensions (size n, or 1 where it is the same along one).

    ``probe`` is the plain tensor of one batch position; it is computed alongside by plain torch and tells element
    shape and dtype. ``product`` delivers the two factors where the value is a contraction (see ``contract``).
    """

    __slots__ = ("probe", "product", "reg", "root")

    def __init__(self, reg: Reg, probe: Tensor, root: Root) -> None:
        self.reg = reg
        self.probe = probe
        self.root = root
        self.product: Callable[[], Any] | None = None

    @property
    def rank(self) -> int:
        """Rank of the element."""
        return self.probe.dim()


class NamedFields(tuple[Any, ...]):
    """What ``topk`` and its kin return: a tuple whose items also have names."""

    names: tuple[str, ...]

    @staticmethod
    def of(values: Sequence[Any], names: Sequence[str]) -> NamedFields:
        """Return ``values`` under ``names``."""
        result = NamedFields(values)
        result.names = tuple(names)
        return result


@dataclass(slots=True)
class TapeStep:
    """One recorded operation: ``run`` works on the registers; ``tag`` is its name, ``place`` where it stands."""

    run: Callable[[Registers], None]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    place: Any
    tag: str
    effect: bool = False


@dataclass(slots=True)
class Tape:
    """Steps in order and the registers they start from (constants in place, everything else None)."""

    steps: list[TapeStep] = field(default_factory=list)
    template: Registers = field(default_factory=list)
    _constants: dict[int, int] = field(default_factory=dict)

    def slot(self, value: Any = None) -> int:
        """Return a new register that starts as ``value``."""
        self.template.append(value)
        return len(self.template) - 1

    def constant(self, value: Any) -> int:
        """Return the register of a constant."""
        slot = self._constants.get(id(value))
        if slot is None:
            slot = self._constants[id(value)] = self.slot(value)
        return slot

    def operand(self, value: Any) -> int:
        """Return the register of an operand."""
        return value.slot if type(value) is Reg else self.constant(value)

    def emit(self, function: Callable[..., Any], operands: Sequence[Any], place: Any, tag: str) -> Reg:
        """Run ``function`` on the operands, record it, and return the register of the result (one tensor)."""
        inputs = tuple(self.operand(operand) for operand in operands)
        value = function(*[self._now(operand) for operand in operands])
        out = self.slot()
        self.steps.append(TapeStep(_step(function, inputs, out), inputs, (out,), place, tag))
        return Reg(out, value)

    def emit_many(self, function: Callable[..., Any], operands: Sequence[Any], place: Any, tag: str) -> tuple[Reg, ...]:
        """As :meth:`emit` for a function that returns a sequence of tensors."""
        inputs = tuple(self.operand(operand) for operand in operands)
        values = function(*[self._now(operand) for operand in operands])
        outs = tuple(self.slot() for _ in values)
        self.steps.append(TapeStep(_step_many(function, inputs, outs), inputs, outs, place, tag))
        return tuple(Reg(out, value) for out, value in zip(outs, values, strict=True))

    def effect(self, function: Callable[..., Any], operands: Sequence[Any], place: Any, tag: str) -> None:
        """Run and record a function that changes its first operand in place."""
        inputs = tuple(self.operand(operand) for operand in operands)
        function(*[self._now(operand) for operand in operands])
        self.steps.append(TapeStep(_step(function, inputs, self.slot()), inputs, (), place, tag, effect=True))

    @staticmethod
    def _now(operand: Any) -> Any:
        return operand.tensor if type(operand) is Reg else operand

    def live_steps(self, wanted: Sequence[int]) -> list[TapeStep]:
        """Return the steps that the registers ``wanted`` need, in order; effects always count as needed."""
        needed = set(wanted)
        kept: list[TapeStep] = []
        for step in reversed(self.steps):
            if step.effect or not needed.isdisjoint(step.outputs):
                needed.update(step.inputs)
                kept.append(step)
        kept.reverse()
        return kept

    def ancestors(self, slot: int) -> set[int]:
        """Return every register that the value of ``slot`` depends on, itself included."""
        needed = {slot}
        for step in reversed(self.steps):
            if not needed.isdisjoint(step.outputs) or (step.effect and step.inputs[0] in needed):
                needed.update(step.inputs)
        return needed

    def producer(self, slot: int) -> TapeStep | None:
        """Return the step that writes ``slot``, or None for arguments and constants."""
        return next((step for step in reversed(self.steps) if slot in step.outputs), None)


def _step(function: Callable[..., Any], inputs: tuple[int, ...], out: int) -> Callable[[Registers], None]:
    # One closure form per number of operands: a generic *args call costs twice as much.
    match inputs:
        case (a,):

            def one(r: Registers) -> None:
                r[out] = function(r[a])

            return one
        case (a, b):

            def two(r: Registers) -> None:
                r[out] = function(r[a], r[b])

            return two
        case (a, b, c):

            def three(r: Registers) -> None:
                r[out] = function(r[a], r[b], r[c])

            return three
        case _:

            def many(r: Registers) -> None:
                r[out] = function(*[r[i] for i in inputs])

            return many


def _step_many(
    function: Callable[..., Any], inputs: tuple[int, ...], outs: tuple[int, ...]
) -> Callable[[Registers], None]:
    if len(outs) == 2:
        first, second = outs

        def pair(r: Registers) -> None:
            r[first], r[second] = function(*[r[i] for i in inputs])

        return pair

    def several(r: Registers) -> None:
        for out, value in zip(outs, function(*[r[i] for i in inputs]), strict=True):
            r[out] = value

    return several
