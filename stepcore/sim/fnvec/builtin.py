"""Python's own functions and the container methods that bodies may call.

What breaks a rule or a limit of the language raises ``EvaluationRefused``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import torch

from stepcore.fn import allow
from stepcore.fn.python_calls import NOT_OF_TENSORS, bits_to_round, of_a_tensor, placed, wrong_call
from stepcore.sim.fnvec.errors import EvaluationRefused, NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced
from stepcore.sim.fnvec.shared import countable
from stepcore.sim.fnvec.tape import TV
from stepcore.sim.fnvec.trace import Tracer

if TYPE_CHECKING:
    from stepcore.sim.fnvec.machine import Machine

_ABS = Operation("abs", torch.abs)
_UNBIND = Operation("unbind", torch.unbind)


@dataclass(frozen=True, slots=True)
class Builtin:
    """A function of Python or of ``math`` that bodies may call."""

    name: str


@dataclass(slots=True, eq=False)
class SinglePass:
    """What ``zip``, ``enumerate``, ``reversed`` and generators give: used up once, and true, as iterators are."""

    items: Iterator[Any]
    depth: int = 1

    def __iter__(self) -> Iterator[Any]:
        return self.items


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """``value.name`` before it is called."""

    value: Any
    name: str


class Evaluating(Protocol):
    """What functions of Python need of the interpreter that calls them."""

    machine: Machine
    frozen: set[int]
    kept: Set[int]

    def call(self, function: Any, args: Sequence[Any], kwargs: dict[str, Any], /) -> Any:
        """Call a value of the language."""

    def choose(self, condition: Any, yes: Any, no: Any, /) -> Any:
        """Return ``yes if condition else no`` for values that are already there."""

    def refuse_frozen(self, value: Any, /) -> None:
        """Refuse to change a list or dictionary that is not the body's own."""


BUILTINS: dict[str, Builtin] = {name: Builtin(name) for name in sorted(allow.BUILTINS)}


_NOTHING: dict[Any, Any] = {}
VIEWS = (type(_NOTHING.keys()), type(_NOTHING.values()), type(_NOTHING.items()))
# What a list takes by ``+=`` beside lists and tuples. A tensor's own addition comes first there.
EXTENDING: Final = (range, str, dict, set, SinglePass, *VIEWS)
_USED_UP: Final = "global made this iterator, and the first call would use it up; make a list of it there"
_DEEPEST = 32  # iterators inside each other; Python has no limit, and its stack ends


def items(interp: Evaluating, value: Any) -> Iterable[Any]:
    """Return what iterating over ``value`` gives, as it is when each item is asked for.

    Raises:
        EvaluationRefused: not iterable here, or too long.
    """
    if isinstance(value, TV | torch.Tensor):
        if isinstance(value, torch.Tensor) and value.dim() == 0:
            raise EvaluationRefused("iteration over a tensor without dimensions")
        result: Sequence[Any] = interp.machine.call(_UNBIND, (value, 0), {})
        return result
    if isinstance(value, SinglePass):
        if id(value) in interp.kept:
            raise EvaluationRefused(_USED_UP, "STEP310")
        if isinstance(interp.machine, Tracer) and interp.machine.mask is not None:
            raise NoRule  # the other branch would find it used up
        return value.items
    if not isinstance(value, (list, tuple, range, str, dict, set, *VIEWS)):
        raise EvaluationRefused(f"{type(value).__name__!r} cannot be iterated over")
    if len(value) > interp.machine.limits.sequence:
        raise EvaluationRefused(f"a loop over more than {interp.machine.limits.sequence:,} items", "STEP405")
    return value


def one_pass(made: Iterator[Any], around: Sequence[Any]) -> SinglePass:
    """Return an iterator over values.

    Raises:
        EvaluationRefused: too many stand inside each other.
    """
    depth = 1 + max((value.depth for value in around if isinstance(value, SinglePass)), default=0)
    if depth > _DEEPEST:
        raise EvaluationRefused("iterators are nested too deeply; make a list of the inner one", "STEP405")
    return SinglePass(made, depth)


def call_builtin(interp: Evaluating, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call the function ``name`` of Python (or ``math.NAME``) on already evaluated arguments."""
    if name.startswith("math."):
        if has_traced(args):
            raise NoRule
        return _math(interp, name.removeprefix("math."), args)
    if wrong := wrong_call(name, len(args), [*kwargs]):
        raise EvaluationRefused(wrong, "STEP304")
    if name in NOT_OF_TENSORS and any(isinstance(arg, TV | torch.Tensor) for arg in args):
        raise EvaluationRefused(of_a_tensor(name), "STEP304")
    args, kwargs = placed(name, args, kwargs)
    if name in ("all", "any", "dict"):
        args = [list(items(interp, arg)) if isinstance(arg, (SinglePass, *VIEWS)) else arg for arg in args]
    special = _SPECIAL.get(name)
    if special is not None:
        return special(interp, args, kwargs)
    if has_traced(args) and name not in ("len", "tuple", "list", "enumerate", "zip", "reversed", "dict"):
        raise NoRule
    return _PLAIN[name](*args, **kwargs)


def _int(interp: Evaluating, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    if has_traced(args):
        raise NoRule
    bits = interp.machine.limits.bits
    if any(isinstance(arg, str) and len(arg) > bits for arg in args):  # each digit is a bit at least
        raise EvaluationRefused(f"a text of more than {bits:,} characters is read as an integer", "STEP406")
    value = int(*args, **kwargs)
    if value.bit_length() > bits:
        raise EvaluationRefused(f"an integer of more than {bits} bits", "STEP406")
    return value


def _round(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    if has_traced(args):
        raise NoRule
    bits = interp.machine.limits.bits
    if bits_to_round(args[0], args[1] if len(args) > 1 else None) > bits:
        raise EvaluationRefused(f"round() makes a power of ten of more than {bits} bits", "STEP406")
    return round(*args)


def _math(interp: Evaluating, name: str, args: Sequence[Any]) -> Any:
    bits = interp.machine.limits.bits
    if name in ("factorial", "comb") and any(isinstance(a, int) and abs(a) > 500 for a in args):
        raise EvaluationRefused(f"an integer of more than {bits} bits", "STEP406")
    if name in ("prod", "gcd", "lcm") and len(args) == 1 and isinstance(args[0], list | tuple):
        value = 1
        for item in args[0]:
            value = interp.machine.binary("mul", value, item)
        return value if name == "prod" else getattr(math, name)(*args)
    return getattr(math, name)(*args)


def _extreme(operator: str) -> Callable[[Evaluating, Sequence[Any], dict[str, Any]], Any]:
    def extreme(interp: Evaluating, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if set(kwargs) - {"default", "key"}:
            raise EvaluationRefused("max and min take values, a key and a default")
        values = list(items(interp, args[0])) if len(args) == 1 else list(args)
        if not values:
            if "default" in kwargs:
                return kwargs["default"]
            raise EvaluationRefused("max or min of nothing")
        key = kwargs.get("key")
        best = values[0]
        best_rank = best if key is None else interp.call(key, (best,), {})
        for value in values[1:]:
            rank = value if key is None else interp.call(key, (value,), {})
            better = interp.machine.binary(operator, rank, best_rank)
            best, best_rank = interp.choose(better, value, best), interp.choose(better, rank, best_rank)
        return best

    return extreme


def _sorted(interp: Evaluating, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Sort plain values, or values by a key of the body: an order that depends on batched values has no rule."""
    if len(args) != 1 or set(kwargs) - {"key", "reverse"}:
        raise EvaluationRefused("sorting takes one sequence, and key and reverse by name")
    values = list(items(interp, args[0]))
    key = kwargs.get("key")
    ranks = values if key is None else [interp.call(key, (value,), {}) for value in values]
    if has_traced(ranks):
        raise NoRule
    countable(ranks)
    order = sorted(range(len(values)), key=ranks.__getitem__, reverse=bool(kwargs.get("reverse", False)))
    return [values[place] for place in order]


def _sum(interp: Evaluating, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    total = kwargs.get("start", args[1] if len(args) > 1 else 0)
    for item in items(interp, args[0]):
        total = interp.machine.binary("add", total, item)
    return total


def _abs(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    return interp.machine.call(_ABS, args, {}) if isinstance(args[0], TV | torch.Tensor) else abs(args[0])


def _pow(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    return interp.machine.binary("pow", *args)


def _range(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    if has_traced(args):
        raise NoRule
    result = range(*[int(a) if isinstance(a, torch.Tensor) else a for a in args])
    count = (result.stop - result.start) / result.step
    if count > interp.machine.limits.sequence:
        raise EvaluationRefused(
            f"a range of {int(count):,} items; the limit is {interp.machine.limits.sequence:,}", "STEP405"
        )
    return result


def _iterable(make: Callable[[Iterable[Any]], Any]) -> Callable[[Evaluating, Sequence[Any], dict[str, Any]], Any]:
    def build(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
        return make(items(interp, args[0])) if args else make(())

    return build


def _enumerate(interp: Evaluating, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return one_pass(enumerate(items(interp, args[0]), *args[1:], **kwargs), args[:1])


def _zip(interp: Evaluating, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return one_pass(zip(*[items(interp, a) for a in args], strict=bool(kwargs.get("strict", False))), args)


def _reversed(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    if len(args) != 1 or isinstance(args[0], SinglePass):
        raise EvaluationRefused("reversed takes one list or tuple; make one with list(...)")
    return one_pass(iter(reversed(items(interp, args[0]))), [])  # type: ignore[call-overload]  # no iterator


def _len(_interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    if isinstance(args[0], SinglePass):
        raise EvaluationRefused("an iterator has no length; make a list of it with list(...)")
    return len(args[0].probe) if type(args[0]) is TV else len(args[0])


def _str(_interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    if not args:
        return ""
    if len(args) != 1 or not isinstance(args[0], int | float | str):
        raise EvaluationRefused("str() takes one number or text here")
    return str(args[0])


def _divmod(interp: Evaluating, args: Sequence[Any], _kwargs: dict[str, Any]) -> Any:
    return interp.machine.binary("floor_divide", *args), interp.machine.binary("remainder", *args)


_SPECIAL: dict[str, Callable[[Any, Sequence[Any], dict[str, Any]], Any]] = {
    "max": _extreme("gt"),
    "min": _extreme("lt"),
    "sum": _sum,
    "abs": _abs,
    "pow": _pow,
    "range": _range,
    "list": _iterable(list),
    "tuple": _iterable(tuple),
    "reversed": _reversed,
    "enumerate": _enumerate,
    "zip": _zip,
    "len": _len,
    "str": _str,
    "divmod": _divmod,
    "int": _int,
    "round": _round,
    "sorted": _sorted,
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "all": all, "any": any, "bool": bool, "dict": dict, "float": float, "slice": slice,
}  # fmt: skip


# Methods that compare the items of a list with one.
_COMPARING = ("index", "count", "remove")


def call_method(interp: Evaluating, value: Any, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a method of a list, tuple, range or dictionary."""
    if name not in allow.CONTAINER_METHODS or not isinstance(value, list | tuple | range | dict):
        raise EvaluationRefused(f"the method {name!r} is not part of the function language", "STEP304")
    changes = name in allow.CONTAINER_CHANGES
    machine = interp.machine
    if changes and isinstance(machine, Tracer) and machine.mask is not None:
        raise NoRule  # the length of a list would depend on data
    if changes:
        interp.refuse_frozen(value)
    if changes and name not in ("pop", "sort", "clear", "remove") and len(value) >= machine.limits.sequence:
        raise EvaluationRefused(f"a list of more than {machine.limits.sequence:,} items", "STEP405")
    if name == "sort":
        if not isinstance(value, list):
            raise EvaluationRefused(f"a {type(value).__name__} cannot be sorted in place; write sorted(...)")
        value[:] = _sorted(interp, (value, *args), kwargs)
        return None
    if name == "extend":
        args = (items(interp, args[0]),)
    if name in _COMPARING and (has_traced(value) or has_traced(args)):
        raise NoRule  # whether two tensors are equal differs from position to position
    if name in _COMPARING or isinstance(value, dict):
        countable(value if isinstance(value, list) else None, *args)  # what is a key is hashed
    result = getattr(value, name)(*args, **kwargs)
    return result
