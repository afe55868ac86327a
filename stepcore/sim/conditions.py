"""Which way the conditions of a computation went: each comparison, mask, bound and step, seen while it runs.

A number meets a *bound* (``x > 100``, ``clamp(x, max=1)``, ``relu(x)``) from below, exactly, or from above; a *mask* is
true or false; a *step* (``floor(x)``, ``x.int()``, ``x % 3``) changes a number or leaves it. :class:`Noting` notes what
of this it saw. What no input reaches is a constant of the sizes and no condition, and neither is a comparison with
something infinite or an enquiry about NaN: data hold none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntFlag
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import torch
from torch import Tensor

from stepcore.findings.verdict import UntestedCondition
from stepcore.fn.source import node_span, node_text
from stepcore.sim.flow import FlowMode
from stepcore.sim.written import LARGEST, LONGEST, ConditionPlace, python_numbers, python_place, written_numbers
from stepcore.text.span import Embedded

if TYPE_CHECKING:
    from stepcore.sim.fnvec.tape import TapeStep

_MOST_VALUES: Final = 16  # of a constant tensor, and of the numbers that a computation adds and multiplies


class Way(IntFlag):
    """How a number met its bound.

    A mask that is true, and a step that changes a number, count as above, a step that gave different ones as equal, and
    one that gave more than two as many: two are also what a comparison gives.
    """

    BELOW = 1
    EQUAL = 2
    ABOVE = 4
    MANY = 8


NOWHERE: Final = Way(0)
_ANY: Final = Way.BELOW | Way.EQUAL | Way.ABOVE
_TRUE: Final = {
    "lt": Way.BELOW, "le": Way.BELOW | Way.EQUAL, "eq": Way.EQUAL, "ne": Way.BELOW | Way.ABOVE,
    "ge": Way.ABOVE | Way.EQUAL, "gt": Way.ABOVE,
}  # fmt: skip
_COMPARED: Final = frozenset({*_TRUE, "isclose"})  # what holds two numbers against each other
_ALIASES: Final = {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "not_equal": "ne",
    "clip": "clamp", "fix": "trunc", "multiply": "mul", "subtract": "sub", "divide": "div", "sgn": "sign",
    "masked_scatter": "masked_fill", "true_divide": "div",
}  # fmt: skip
# The bounds that operations hold their first argument against: numbers, or names of arguments.
_BOUNDS: Final[dict[str, tuple[float | str, ...]]] = {
    "clamp": ("min", "max"), "clamp_min": ("min",), "clamp_max": ("max",), "hardtanh": ("min_val", "max_val"),
    "threshold": ("threshold",), "hardshrink": ("lambd",), "softshrink": ("lambd",),
    "relu": (0.0,), "relu6": (0.0, 6.0), "leaky_relu": (0.0,), "prelu": (0.0,), "elu": (0.0,), "selu": (0.0,),
    "celu": (0.0,), "hardswish": (-3.0, 3.0), "hardsigmoid": (-3.0, 3.0), "sign": (0.0,), "heaviside": (0.0,),
    "abs": (0.0,), "maximum": ("other",), "minimum": ("other",), "fmax": ("other",), "fmin": ("other",),
    "max.other": ("other",), "min.other": ("other",), "huber_loss": ("delta",), "smooth_l1_loss": ("beta",),
    "bucketize.Tensor": ("boundaries",),
}  # fmt: skip
# These bend at their bounds and jump nowhere: what a program does exactly there says nothing more.
_JOINS: Final = frozenset({"cat", "stack"})  # numbers beside constants: an order, or the least of them, comes after
_CONTINUOUS: Final = _JOINS | _BOUNDS.keys() - {"threshold", "hardshrink", "sign", "heaviside", "bucketize.Tensor"}
_OF_SIZE: Final = frozenset({"hardshrink", "softshrink"})  # compare how far from 0 a number is
_OF_DIFFERENCE: Final = frozenset({"huber_loss", "smooth_l1_loss"})  # compare how far apart two arguments are
# Stronger data are drawn for them, but what is never negative needs no note, and what joins numbers decides nothing;
# of what asks whether numbers are close to others, the truth values are told.
_UNSAID: Final = frozenset({"abs", "cat", "stack", "number", "isclose"})
_NUMBERS: Final = frozenset({"item", "_local_scalar_dense"})  # a number of Python, whose comparisons nobody sees
_MASKS: Final = {"where": 0, "masked_fill": 1, "masked_select": 1, "is_nonzero": 0, "item": 0, "_local_scalar_dense": 0}
_STEPS: Final = frozenset({"floor", "ceil", "round", "trunc", "frac", "remainder", "fmod", "floor_divide"})
_OF_NAN: Final = frozenset({"isnan", "isinf", "isfinite", "isneginf", "isposinf"})
# What makes one truth value of many: it may go one way although each of them goes both.
_TRUTHS: Final = frozenset({"all", "any", "prod"})
_ASKED: Final = frozenset({"equal", "allclose"})  # which answer in Python
_NEGATIONS: Final = frozenset({"logical_not", "bitwise_not"})
_ORDERS: Final = frozenset({"argmax", "argmin", "argsort", "sort", "topk", "kthvalue", "median", "mode", "msort"})
# What asks whether two numbers are equal, or rounds a half.
_PAIRED: Final = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "isclose", "sign", "heaviside", "step"})
_ARITHMETIC: Final = frozenset({"add", "sub", "rsub", "mul", "div", "truediv", "floor_divide", "remainder", "fmod"})
# Recorded steps that decide nothing, by their tags; of those between two numbers only a constant is a bound.
_HARMLESS: Final = frozenset(
    {"add", "sub", "mul", "truediv", "pow", "neg", "exp", "log", "sqrt", "rsqrt", "square", "sin", "cos", "tanh"}
    | {"sigmoid", "silu", "gelu", "matmul", "contract", "unsqueeze", "select", "narrow", "transpose", "flatten", "copy"}
    | {"_view_transposed", "shape", "softplus"}
)
_BETWEEN: Final = frozenset({"maximum", "minimum", "max", "min", "fmax", "fmin"})
Key: TypeAlias = tuple[Any, str, int]
Step: TypeAlias = Callable[[list[Any]], None]


@dataclass(slots=True)
class ConditionSeen:
    """What was seen of one condition. ``bounds`` are the constants that numbers meet there."""

    place: ConditionPlace
    kind: str
    bound: float | None
    ways: Way = NOWHERE
    bounds: frozenset[float] = frozenset()
    values: frozenset[float] = frozenset()  # of what a step gave, the first two
    is_beyond: bool = False  # whole numbers that are drawn within limits, and bounds that are none of these

    def add(self, other: ConditionSeen) -> None:
        """Take in what was seen of the condition on other data."""
        self.ways |= other.ways
        self.bounds |= other.bounds
        self.is_beyond = self.is_beyond and other.is_beyond
        self.gave(other.values)

    def gave(self, values: Iterable[float]) -> None:
        """Take in what a step gave; two numbers stand for all that there are."""
        found = self.values | frozenset(values)
        self.ways |= (Way.EQUAL if len(found) > 1 else NOWHERE) | (Way.MANY if len(found) > 2 else NOWHERE)
        self.values = self.values if len(self.values) > 1 else frozenset(sorted(found)[:2])

    @property
    def sought(self) -> Way:
        """The ways that data should show, besides those that have been seen."""
        if self.kind == "step":
            return (Way.ABOVE | Way.EQUAL | Way.MANY) & ~self.ways
        if self.kind == "mask":
            return (Way.ABOVE | Way.BELOW) & ~self.ways
        exactly = (self.bounds and self.kind not in _CONTINUOUS) or self.kind in ("eq", "ne")
        return (_ANY if exactly else Way.BELOW | Way.ABOVE) & ~self.ways

    @property
    def notes(self) -> list[UntestedCondition]:
        """What a verification does not say, as notes; none where the condition went both ways."""
        if not self.ways or self.kind in _UNSAID or self.is_beyond:
            return []
        return [UntestedCondition(text, self.place.span, self.place.line, self.place.column) for text in self._texts()]

    def _texts(self) -> Iterator[str]:
        shown = self.place.text
        if self.kind == "step":
            if not self.ways & Way.ABOVE:
                yield f"{shown} never changed a number: it is not verified"
            elif not self.ways & Way.EQUAL:
                yield f"{shown} gave one and the same number: it is not verified"
            return
        true = Way.ABOVE if self.kind == "mask" else _TRUE.get(self.kind)
        if true is None:
            for way, word in ((Way.BELOW, "below"), (Way.ABOVE, "above")):
                if not self.ways & way:
                    limit = "its bound" if self.bound is None else f"{self.bound:g}"
                    yield f"no number was {word} {limit} in {shown}: what it does there is not verified"
        elif not self.ways & true:
            yield f"the condition {shown} was never true: what follows it is not verified"
        elif not self.ways & ~true:
            yield f"the condition {shown} was always true: what follows where it is false is not verified"


class Noting(FlowMode):  # type: ignore[no-untyped-call]
    """Notes conditions while it is active, besides what reaches what.

    It is active through a whole reference, and of a program in those steps of element functions that may decide
    something. ``at`` is the expression that an interpreter carries out; without one a condition stands in the user's
    Python that is running, if ``python``, and is none of the computation's own otherwise. ``numbers`` are constants
    that the computation calculates with, ``orders`` tells whether it asks which of some numbers is the largest,
    ``unstable`` whether it does so without a promise which of equal ones comes first.
    ``limits`` are the least and the greatest whole number that is drawn.
    """

    def __init__(
        self, tensors: Mapping[str, Sequence[Tensor]], limits: tuple[int, int] | None = None, *, python: bool = False
    ) -> None:
        super().__init__(tensors)
        self.limits = limits
        self.at: tuple[Embedded, Any] | None = None
        self.seen: dict[Key, ConditionSeen] = {}
        self.numbers: set[float] = set()
        self.orders = False
        self.unstable = False
        self._python = python
        self._noted: dict[int, Tensor] = {}  # by their memory, truth values that were noted where they were compared
        self._of_nan: dict[int, Tensor] = {}  # by theirs, those that are about NaN, which no data hold

    def marked(self, steps: Sequence[TapeStep], template: Sequence[Any], source: Embedded) -> list[Step]:
        """Return what runs the steps of a recorded body, those that may decide something each at its place.

        ``template`` are its registers before a call: what they hold is constant.
        """
        return [self._marking(step, template, source) for step in steps]

    def _marking(self, step: TapeStep, template: Sequence[Any], source: Embedded) -> Step:
        moving = [slot for slot in step.inputs if template[slot] is None]
        if step.tag in _HARMLESS or (step.tag in _BETWEEN and len(moving) == len(step.inputs)):
            if step.tag in _ARITHMETIC and len(self.numbers) < _MOST_VALUES:
                self._calculate(template[slot] for slot in step.inputs)
            return step.run

        def run(registers: list[Any]) -> None:
            self.at = (source, step.place)
            with self.on(registers[slot] for slot in moving):
                step.run(registers)

        return run

    @contextmanager
    def on(self, values: Iterable[Any]) -> Iterator[None]:
        """Be active while a function computes with ``values``, which inputs reach."""
        self.begin([each for each in values if isinstance(each, Tensor)])
        try:
            with self:
                yield
        finally:
            self.at = None

    def _calculate(self, operands: Iterable[Any]) -> None:
        found = (float(each) for each in operands if type(each) in (int, float) and abs(each) <= LARGEST)
        self.numbers.update(found)

    def look(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """See :meth:`FlowMode.look`: note what an operation is about to decide."""
        name = func.overloadpacket.__name__
        written = name.endswith("_") and not name.endswith("__")
        name = name.removesuffix("_") if written else name
        name = _ALIASES.get(name, name)
        known = name if name in _BOUNDS else f"{name}.{func._overloadname}"
        if name in _ORDERS or known in ("max.dim", "min.dim"):
            self.orders = True
            self.unstable = self.unstable or not _is_stable(func, args, kwargs)
        if name in _ARITHMETIC and len(self.numbers) < _MOST_VALUES:
            self._calculate(args[1:2])
        if name in _COMPARED:
            self._compare(name, args[0], args[1] if len(args) > 1 else kwargs.get("other"))
        elif known in _BOUNDS:
            self._meet(name, _BOUNDS[known], func, args, kwargs)
        elif name in _NUMBERS and args[0].dtype != torch.bool:
            self.leave(args[0])
        elif name in _MASKS:
            self._mask(args[_MASKS[name]] if len(args) > _MASKS[name] else None)
        elif name in ("index", "index_put") and len(args) > 1:
            for each in args[1]:
                self._mask(each)
        elif name in _JOINS:
            self._join(name, args[0])
        elif name in _STEPS or name in ("to", "div", "_to_copy"):
            self._step(name, func, args, kwargs)

    def after(self, func: Any, args: tuple[Any, ...], found: Any) -> None:
        """See :meth:`FlowMode.after`: remember truth values noted where they were compared, or that are about NaN."""
        name = _ALIASES.get(func.overloadpacket.__name__, func.overloadpacket.__name__)
        if name in _ASKED and any(map(self._reached, args[:2])):
            self._went(torch.tensor(found))
        if not isinstance(found, Tensor) or not found.numel():  # which has no memory
            return
        given = args[0].untyped_storage().data_ptr() if args and isinstance(args[0], Tensor) else None
        is_of_itself = name in _COMPARED and len(args) > 1 and args[0] is args[1]
        if name in _OF_NAN or is_of_itself or (name in _NEGATIONS | _TRUTHS and given in self._of_nan):
            self._of_nan[found.untyped_storage().data_ptr()] = found
        elif name == "isclose" or (name in _TRUTHS and args[0].dtype == torch.bool):
            if self._reached(found):
                self._went(found != 0)
        elif name not in _TRUE and not (name in _NEGATIONS and given in self._noted):
            return
        self._noted[found.untyped_storage().data_ptr()] = found

    def _compare(self, kind: str, left: Any, right: Any) -> None:
        if not isinstance(left, Tensor) or not (self._reached(left) or self._reached(right)):
            return
        if left is right:  # an enquiry about NaN
            return
        if self._reached(left) or not self._reached(right):
            self._note(kind, 0, left, right)
        else:  # a constant on the left: x < c is c > x
            self._note({"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}.get(kind, kind), 0, right, left)

    def _meet(
        self,
        name: str,
        bounds: Sequence[float | str],
        func: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> None:
        value = args[0]
        if name in _OF_DIFFERENCE:
            value = (args[0] - args[1]).abs()
        elif name in _OF_SIZE:
            value = args[0].abs()
        if not isinstance(value, Tensor) or not any(self._reached(each) for each in args[:2]):
            return
        for slot, bound in enumerate(bounds):
            limit = bound if not isinstance(bound, str) else _argument(func, args, kwargs, bound)
            if not self._reached(args[0]) and isinstance(limit, Tensor):
                self._note(name, slot, limit, value)
            elif limit is not None:
                if isinstance(limit, Tensor) and name == "bucketize":
                    for number, each in enumerate(limit.reshape(-1)[:_MOST_VALUES].tolist()):
                        self._note(name, number, value, each)
                else:
                    self._note(name, slot, value, limit)

    def _join(self, name: str, parts: Sequence[Tensor]) -> None:
        """Note on which side of constants the numbers beside them are."""
        moving = [each for each in parts if self._reached(each)]
        fixed = [each for each in parts if not self._reached(each)] if moving else []
        constants = {float(each) for part in fixed for each in part.detach().reshape(-1)[:_MOST_VALUES].tolist()}
        for slot, bound in enumerate(sorted(each for each in constants if isfinite(each))[:_MOST_VALUES]):
            for part in moving:
                self._note(name, slot, part, bound)

    def _mask(self, mask: Any) -> None:
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool or not self._reached(mask):
            return
        if mask.untyped_storage().data_ptr() not in self._noted and mask.numel():
            self._went(mask)

    def _went(self, mask: Tensor) -> None:
        """Note that truth values are true, false or both."""
        ways = (Way.ABOVE if bool(mask.any()) else NOWHERE) | (NOWHERE if bool(mask.all()) else Way.BELOW)
        self._add("mask", 0, ways, None, ())

    @property
    def pairs(self) -> bool:
        """Whether it asks whether two numbers are equal, or which comes first, which only equal ones show."""
        return any(kind in _PAIRED for _place, kind, _slot in self.seen) or (self.orders and not self.unstable)

    def leave(self, value: Tensor) -> None:
        """Note that a number leaves torch: it may be compared with any constant of the text, and no data show all."""
        if self._reached(value):
            self._add("number", 0, NOWHERE, None, self._constants()[:_MOST_VALUES])

    def _constants(self) -> Sequence[float]:
        """Return the numbers in the text that is carried out."""
        if self.at is not None:
            return written_numbers(self.at[0].text)
        return python_numbers() if self._python else ()

    def _step(self, name: str, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        value = args[0]
        if not isinstance(value, Tensor) or not self._reached(value) or not value.numel():
            return
        constants: list[float] = [1.0]
        if name in ("to", "_to_copy"):
            wanted = next((each for each in (*args[1:], *kwargs.values()) if isinstance(each, torch.dtype)), None)
            if not value.is_floating_point() or wanted is None or wanted.is_floating_point or wanted.is_complex:
                return
            if wanted == torch.bool:
                self._note("ne", 0, value, 0.0)
                return
            name, result = "trunc", value.trunc()
        elif name == "div":
            if kwargs.get("rounding_mode") is None:
                return
            result, value = func(*args, **kwargs), args[0] / args[1]
        elif name == "floor_divide":
            result, value = func(*args, **kwargs), args[0] / args[1]
        else:
            clone = (value.clone(), *args[1:])
            result = func(*clone, **kwargs)
        if name in ("div", "floor_divide", "remainder", "fmod") and not isinstance(args[1], Tensor):
            constants = [float(args[1])]
        ways = Way.ABOVE if bool((result != value).any()) else Way.BELOW
        seen = self._add("step", 0, ways, None, constants)
        if seen is not None:
            seen.gave(_first(result.reshape(-1), 3))

    def _note(self, kind: str, slot: int, left: Tensor, right: Any) -> None:
        """Note how ``left`` meets ``right``: a number, a constant tensor, or one that inputs reach, too."""
        constants: Sequence[float] = ()
        if not isinstance(right, Tensor):
            if isinstance(right, bool) or not isfinite(right):
                return
            constants = (float(right),)
        elif not self._reached(right):
            constants = [float(each) for each in right.detach().reshape(-1)[:_MOST_VALUES].tolist()]
            if not any(isfinite(each) for each in constants):
                return
        if left.is_complex() or (isinstance(right, Tensor) and right.is_complex()):
            return
        ways = NOWHERE
        for way, found in ((Way.BELOW, left < right), (Way.EQUAL, left == right), (Way.ABOVE, left > right)):
            if bool(found.any()):
                ways |= way
        seen = self._add(kind, slot, ways, constants[0] if len(set(constants)) == 1 else None, constants)
        if seen is not None and constants and self.limits and not left.is_floating_point() and left.numel():
            low, high = self.limits
            within = low <= int(left.min()) and int(left.max()) <= high
            seen.is_beyond = within and all(_is_decided(kind, low, high, each) for each in seen.bounds)

    def _add(
        self, kind: str, slot: int, ways: Way, bound: float | None, constants: Sequence[float]
    ) -> ConditionSeen | None:
        place = self._place()
        if place is None:
            return None
        key = (place.span or (place.line, place.column), kind, slot)
        seen = self.seen.get(key)
        if seen is None:
            seen = self.seen[key] = ConditionSeen(place, kind, bound)
        seen.ways |= ways
        seen.bounds |= frozenset(each for each in constants if isfinite(each))
        return seen

    def _reached(self, value: Any) -> bool:
        return isinstance(value, Tensor) and bool(self.of(value))

    def _place(self) -> ConditionPlace | None:
        if self.at is not None:
            source, node = self.at
            return None if node is None else ConditionPlace(node_text(source, node, LONGEST), node_span(source, node))
        return python_place() if self._python else None


def _first(numbers: Tensor, count: int) -> Iterator[float]:
    """Yield the first ``count`` different numbers."""
    for _ in range(count):
        if not numbers.numel():
            return
        first = numbers[0]
        yield float(first)
        numbers = numbers[numbers != first]


def _is_decided(kind: str, low: int, high: int, bound: float) -> bool:
    """Whether all whole numbers from ``low`` to ``high`` meet ``bound`` in one way, as far as ``kind`` cares."""
    possible = Way.BELOW if low < bound else NOWHERE
    if low <= bound <= high:
        possible |= Way.EQUAL
    if high > bound:
        possible |= Way.ABOVE
    true = _TRUE.get(kind, Way.BELOW)
    return not possible & true or not possible & ~true


def _is_stable(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether a call promises which of equal numbers comes first."""
    return func._overloadname == "stable" and _argument(func, args, kwargs, "stable") is True


def _argument(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Any:
    """Return the argument ``name`` of a call, by the operator's schema; its default where it is left out."""
    for place, argument in enumerate(func._schema.arguments):
        if argument.name == name:
            return args[place] if place < len(args) else kwargs.get(name, argument.default_value)
    return None
