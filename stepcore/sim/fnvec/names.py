"""Binds the allow-list to torch: names of the language become callables with a canonical operation name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any

import torch

from stepcore.fn import allow
from stepcore.fn.terms import has_terms
from stepcore.sim.fnvec.errors import EvaluationRefused

_MODULES: dict[str, Any] = {
    "torch": torch,
    "torch.nn": torch.nn,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "torch.special": torch.special,
    "torch.fft": torch.fft,
    "math": math,
}
# One operation under several names: the rules know the canonical one.
CANONICAL: dict[str, str] = {
    "concat": "cat", "concatenate": "cat", "row_stack": "vstack", "swapaxes": "transpose", "swapdims": "transpose",
    "moveaxis": "movedim", "absolute": "abs", "multiply": "mul", "subtract": "sub", "divide": "div",
    "true_divide": "div", "negative": "neg", "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le",
    "not_equal": "ne", "clip": "clamp", "ger": "outer", "ravel": "flatten", "_unsafe_view": "reshape",
    "_softmax": "softmax", "_log_softmax": "log_softmax", "arctan2": "atan2",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Namespace:
    """A module that bodies may name; ``path`` is a key of :data:`stepcore.fn.allow.NAMESPACES`."""

    path: str


@dataclass(frozen=True, slots=True)
class Operation:
    """A torch function: ``plain`` runs one position, rules know it by ``name`` (``linalg.norm``, ``relu``...)."""

    name: str
    plain: Callable[..., Any]
    random: bool = False
    creates: bool = False
    path: str = ""  # dotted, where a call has terms (stepcore.fn.terms)


@dataclass(frozen=True, slots=True)
class AtenName:
    """``torch.ops.aten.NAME`` before its overload is chosen."""

    name: str


def namespace_member(space: Namespace, name: str) -> Any:
    """Return what ``space.name`` means: an :class:`Operation`, a constant, a function of ``math`` or a namespace.

    Raises:
        EvaluationRefused: the name is not on the allow-list (STEP304).
    """
    value = _member(space.path, name)
    if value is None and not (name == "newaxis" and space.path == "torch"):
        if space.path == "torch.ops.aten":
            raise EvaluationRefused(f"torch.ops.aten.{name} is not part of the function language", "STEP304")
        functions, constants, modules = allow.NAMESPACES.get(space.path, (frozenset(), frozenset(), frozenset()))
        reason = allow.why_not(space.path, name)
        if reason:
            raise EvaluationRefused(reason, "STEP304")
        hint = allow.suggestion(name, functions, constants, modules)
        raise EvaluationRefused(f"{space.path}.{name} is not part of the function language{hint}", "STEP304")
    return value


@cache
def _member(path: str, name: str) -> Any:
    if path == "torch.ops.aten":
        return AtenName(name) if name in allow.ATEN else None
    functions, constants, modules = allow.NAMESPACES[path]
    if name in modules:
        return Namespace(f"{path}.{name}")
    if name in constants:
        return getattr(_MODULES[path], name)
    if name not in functions:
        return None
    target = getattr(_MODULES[path], name, None)
    if target is None:  # the table is that of another release
        return None
    if path == "math":
        return target
    if path == "torch.nn":
        return Operation(f"nn.{name}", target, name in allow.RANDOM_MODULES, path=_termed("torch.nn", name))
    canonical = CANONICAL.get(name, name)
    if path == "torch.linalg":
        canonical = {"matmul": "matmul", "cross": "cross", "vecdot": "vecdot"}.get(name, f"linalg.{name}")
    elif path == "torch.fft":
        canonical = f"fft.{name}"
    elif path == "torch.special" and name == "expit":
        canonical = "sigmoid"
    random = name in allow.DRAWING.get(path, ())
    return Operation(canonical, _written(name, target), random, name in allow.CREATION, _termed(path, name))


# What these make holds whatever the memory held before: often zeros, so that a wrong program would be right by chance.
_UNWRITTEN: frozenset[str] = frozenset(("empty", "empty_like", "new_empty"))


def _written(name: str, make: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``make``; memory that nobody has written is NaN, the least whole number, or true."""
    if name not in _UNWRITTEN:
        return make

    @wraps(make)
    def written(*args: Any, **kwargs: Any) -> Any:
        made = make(*args, **kwargs)
        if made.dtype is torch.bool:
            return made.fill_(True)
        return made.fill_(math.nan if made.is_floating_point() else torch.iinfo(made.dtype).min)

    return written


def _termed(path: str, name: str) -> str:
    return f"{path}.{name}" if has_terms(f"{path}.{name}") else ""


@cache
def aten_overload(name: str, overload: str) -> Operation:
    """Return ``torch.ops.aten.name.overload`` as an operation.

    Raises:
        EvaluationRefused: no such overload (STEP304).
    """
    packet = getattr(torch.ops.aten, name, None)
    if packet is None:
        raise EvaluationRefused(f"this release of torch has no torch.ops.aten.{name}", "STEP304")
    if overload not in allow.ATEN[name] or overload not in packet.overloads():
        known = ", ".join(allow.ATEN[name])
        raise EvaluationRefused(f"torch.ops.aten.{name} has no overload {overload!r} here; known: {known}", "STEP304")
    canonical, creates = "aten." + CANONICAL.get(name, name), name in allow.CREATION
    plain = _written(name, getattr(packet, overload))
    return Operation(canonical, plain, creates=creates, path=_termed("torch.ops.aten", name))


@cache
def method(name: str) -> Operation | None:
    """Return the tensor method ``name`` as an operation that takes the tensor first, or None."""
    if name not in allow.TENSOR_METHODS or name in allow.RANDOM_METHODS:
        return None
    target = getattr(torch.Tensor, name, None)
    return None if target is None else Operation(CANONICAL.get(name, name), _written(name, target))
