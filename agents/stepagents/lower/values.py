"""Tensors as the lowering sees them: how each element is computed, never where it is stored.

Every value has a shape (outermost first, as in PyTorch) and an element type. A fold or scan runs over the *last*
dimensions of its base; matrix products, convolutions and pooling are folds of elementwise products of views.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, TypeAlias

from stepagents.lower.affine import Axis, Index
from stepcore.records import Record
from stepcore.sizes.dim import Dim

Shape: TypeAlias = tuple[Dim, ...]
Remap: TypeAlias = Callable[[Index], Index]
_NUMBERS = count()


class Value:
    """Base of all values. ``number`` identifies it within one lowering; ``origin`` is the graph node it came from."""

    __slots__ = ("dtype", "number", "origin", "shape")

    def __init__(self, shape: Shape, dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.number = next(_NUMBERS)
        self.origin = ""


class Source(Value):
    """What the host streams in. ``kind`` is ``input`` (user, weight, constant), ``arange`` or ``ones``."""

    __slots__ = ("kind", "name")

    def __init__(self, shape: Shape, dtype: str, name: str, kind: str = "input") -> None:
        super().__init__(shape, dtype)
        self.name = name
        self.kind = kind


class Literal(Value):
    """One number for all elements, as text for an element function."""

    __slots__ = ("text",)

    def __init__(self, shape: Shape, dtype: str, text: str) -> None:
        super().__init__(shape, dtype)
        self.text = text


class Pointwise(Value):
    """``template`` with ``{0}``, ``{1}`` ... for the same element of each argument; ``label`` names it for people."""

    __slots__ = ("args", "label", "template")

    def __init__(self, template: str, args: tuple[Value, ...], dtype: str, label: str) -> None:
        super().__init__(args[0].shape, dtype)
        if any(len(arg.shape) != len(self.shape) for arg in args):
            raise ValueError(f"{label}: arguments of different rank")
        self.template = template
        self.args = args
        self.label = label


class View(Value):
    """Elements of ``base`` at other places: ``remap`` takes an index of this value to one of the base."""

    __slots__ = ("base", "remap")

    def __init__(self, base: Value, shape: Shape, remap: Remap) -> None:
        super().__init__(shape, base.dtype)
        self.base = base
        self.remap = remap


class Padded(Value):
    """``base`` with ``fill`` around it; ``low`` says how much comes before, per dimension."""

    __slots__ = ("base", "fill", "low")

    def __init__(self, base: Value, shape: Shape, low: tuple[Dim, ...], fill: str) -> None:
        super().__init__(shape, base.dtype)
        self.base = base
        self.low = low
        self.fill = fill


class Stuffed(Value):
    """``base`` with ``step - 1`` zeros between neighbours along each dimension (``step`` 1: none)."""

    __slots__ = ("base", "step")

    def __init__(self, base: Value, step: tuple[int, ...]) -> None:
        shape = tuple((size - 1) * each + 1 for size, each in zip(base.shape, step, strict=True))
        super().__init__(shape, base.dtype)
        self.base = base
        self.step = step


class Fold(Value):
    """A fold of the last ``dims`` dimensions of ``bases`` (equal shapes) by ``rule``, the last dimension fastest.

    With several components the value is a tuple: take one with :class:`Component`.
    """

    __slots__ = ("bases", "dims", "rule")

    def __init__(self, rule: Rule, bases: tuple[Value, ...], dims: int) -> None:
        super().__init__(bases[0].shape[: len(bases[0].shape) - dims], rule.components[0])
        self.rule = rule
        self.bases = bases
        self.dims = dims


class Running(Value):
    """A scan of the last dimension of ``base`` by ``rule``; every element is the state after it."""

    __slots__ = ("base", "rule")

    def __init__(self, rule: Rule, base: Value) -> None:
        super().__init__(base.shape, rule.components[0])
        self.rule = rule
        self.base = base


class Component(Value):
    """One component of a fold or scan with several."""

    __slots__ = ("base", "index")

    def __init__(self, base: Fold | Running, index: int) -> None:
        super().__init__(base.shape, base.rule.components[index])
        self.base = base
        self.index = index


class LoopState(Value):
    """What the round before left of component ``index`` of a loop; only the body of that loop reads it."""

    __slots__ = ("index",)

    def __init__(self, shape: Shape, dtype: str, index: int) -> None:
        super().__init__(shape, dtype)
        self.index = index


class Rounds(Value):
    """A loop that carries states: the tuple of all states after each of ``axis.size`` rounds, or after the last one.

    ``firsts`` are the states before the first round, None for a component that no round reads; ``updates`` are what a
    round makes of ``states``, at place ``axis`` of all that it reads from outside. ``parallel`` are the dimensions that
    rounds do not mix, as one place in each component: they are the dimensions of this value, after that of the rounds
    unless ``is_last``. What the rounds mix is inside its elements. ``last`` is the same loop after its last round,
    ``every`` after each of them where somebody wants that, too.
    """

    __slots__ = ("axis", "every", "firsts", "is_last", "last", "parallel", "states", "updates")

    def __init__(
        self,
        axis: Axis,
        firsts: tuple[Value | None, ...],
        states: tuple[LoopState, ...],
        updates: tuple[Value, ...],
        parallel: tuple[tuple[int, ...], ...],
        *,
        is_last: bool,
    ) -> None:
        own = tuple(updates[0].shape[places[0]] for places in parallel)
        super().__init__(own if is_last else (axis.size, *own), updates[0].dtype)
        self.axis = axis
        self.firsts = firsts
        self.states = states
        self.updates = updates
        self.parallel = parallel
        self.is_last = is_last
        self.last = self
        self.every: Rounds | None = None

    def inner(self, index: int) -> tuple[int, ...]:
        """Return the dimensions of a component that are inside the elements."""
        return tuple(
            place
            for place in range(len(self.updates[index].shape))
            if all(places[index] != place for places in self.parallel)
        )


class StateOf(Value):
    """One component of a loop: its states one after the other in a first dimension, or the last one."""

    __slots__ = ("base", "index")

    def __init__(self, base: Rounds, index: int) -> None:
        update = base.updates[index]
        super().__init__(update.shape if base.is_last else (base.axis.size, *update.shape), update.dtype)
        self.base = base
        self.index = index


class Choice(Value):
    """Ways to compute the same; the first whose indices are affine where it is asked for is taken."""

    __slots__ = ("options",)

    def __init__(self, options: tuple[Value, ...]) -> None:
        super().__init__(options[0].shape, options[0].dtype)
        self.options = options


def parts_of(value: Value) -> tuple[Value, ...]:
    """Return what ``value`` is computed from, one step down."""
    match value:
        case Pointwise():
            return value.args
        case Fold():
            return value.bases
        case Choice():
            return value.options
        case View() | Padded() | Stuffed() | Running() | Component() | StateOf():
            return (value.base,)
        case Rounds():
            return (*value.updates, *(first for first in value.firsts if first is not None))
    return ()


def is_folded(value: Value) -> bool:
    """Return whether an accumulator or padding is on the way to ``value`` from tensors and the results of loops."""
    seen: set[int] = set()
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, Fold | Running | Padded | Stuffed):
            return True
        if each.number in seen or isinstance(each, StateOf):
            continue
        seen.add(each.number)
        parts = parts_of(each)
        stack += parts[:1] if isinstance(each, Choice) else parts
    return False


def zero_fill(dtype: str) -> str:
    """Return what padding with zeros is filled with in ``dtype``."""
    return "False" if dtype == "bool" else "0"


class Rule(Record):
    """How a fold updates its state.

    ``components`` are dtypes; ``lines`` are statements in which ``s0``, ``s1`` ... stand for the state and ``x0`` ...
    for the new elements; ``results`` are the new state. ``label`` names the function for people.
    """

    label: str
    init: tuple[str, ...]
    components: tuple[str, ...]
    results: tuple[str, ...]
    lines: tuple[str, ...] = ()


def sums(dtype: str) -> Rule:
    """Add up."""
    return Rule("add", ("0",), (dtype,), ("s0 + x0",))


def products(dtype: str) -> Rule:
    """Multiply."""
    return Rule("multiply", ("1",), (dtype,), ("s0 * x0",))


def largest(dtype: str) -> Rule:
    """Keep the maximum."""
    return Rule("maximum", ("-inf",), (dtype,), ("torch.maximum(s0, x0)",))


ANY: Final = Rule("any", ("0",), ("bool",), ("s0 | x0",))
ALL: Final = Rule("all", ("1",), ("bool",), ("s0 & x0",))


def moments(dtype: str) -> Rule:
    """Welford's update: count, mean, sum of squared deviations. One pass, and stable."""
    lines = ("count = s0 + 1", "delta = x0 - s1", "mean = s1 + delta / count")
    return Rule("moments", ("0", "0", "0"), (dtype,) * 3, ("count", "mean", "s2 + delta * (x0 - mean)"), lines)


def online_softmax(dtype: str, *, infinite: bool) -> Rule:
    """Running maximum and denominator; ``infinite`` where elements may be minus infinity."""
    lines: tuple[str, ...] = ("top = torch.maximum(s0, x0)",)
    shift = "top"
    if infinite:
        lines += ("shift = torch.where(torch.isinf(top), torch.zeros_like(top), top)",)
        shift = "shift"
    total = f"s1 * torch.exp(s0 - {shift}) + torch.exp(x0 - {shift})"
    return Rule("online_softmax", ("-inf", "0"), (dtype, dtype), ("top", total), lines)


def best_place(dtype: str) -> Rule:
    """The greatest element, where it stood first, and where the fold is."""
    lines = ("here = s2 + 1", "better = x0 > s0")
    results = ("torch.where(better, x0, s0)", "torch.where(better, here, s1)", "here")
    return Rule("argmax", ("-inf", "0", "-1"), (dtype, "int64", "int64"), results, lines)
