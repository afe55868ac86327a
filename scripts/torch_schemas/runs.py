"""What runs on small tensors show: writes, draws, complex numbers and views."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from scripts.torch_schemas.examples import REAL
from scripts.torch_schemas.schemas import is_written, pure_schemas, python_parameters, takes_anything, terms, variants

# What a function of torch raises for arguments that it does not take.
REFUSALS: Final = (RuntimeError, TypeError, ValueError, AssertionError, ImportError, LookupError, AttributeError,
                   ArithmeticError)  # fmt: skip


class Witness(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Watches the operators below a Python wrapper: whether one draws, and whether one writes into ``given``."""

    def __init__(self, given: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._given = {tensor.untyped_storage().data_ptr() for tensor in given if tensor.numel()}
        self.draws = False
        self.writes = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.draws |= torch.Tag.nondeterministic_seeded in func.tags
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if is_written(argument) and isinstance(value, Tensor):
                self.writes |= value.untyped_storage().data_ptr() in self._given
        return func(*args, **(kwargs or {}))


def watched(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, bool] | None:
    """Return whether a call draws and whether it writes into its arguments or state; None where it fails."""
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    if isinstance(function, torch.nn.Module):
        given += [*function.parameters(), *function.buffers()]
    before = [(tensor.clone(), tensor._version) for tensor in given]
    witness = Witness(given)
    try:
        with torch.no_grad(), warnings.catch_warnings(), witness:
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except REFUSALS:
        return None
    changed = any(t._version != v or not torch.equal(t, c) for t, (c, v) in zip(given, before, strict=True))
    return witness.draws, witness.writes or changed


def gives_complex(function: Callable[..., Any], examples: list[tuple[Any, ...]]) -> bool:
    """Return whether each call of a function on real numbers that ran gave complex ones."""
    kinds: list[bool] = []
    for args in (*examples, *REAL):
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(*args)
        except REFUSALS:
            continue
        parts = result if isinstance(result, tuple | list) else (result,)
        kinds.append(any(isinstance(part, Tensor) and part.is_complex() for part in parts))
    return bool(kinds) and all(kinds)


def may_alias(name: str, function: Callable[..., Any], examples: Iterable[tuple[Any, ...]]) -> bool:
    """Return whether what a function gives may lie in the memory of an argument; ``name`` is that of its operator."""
    if any(part.alias_info is not None for schema in pure_schemas(name) for part in schema.returns):
        return True
    if pure_schemas(name) and not inspect.isfunction(function) and not _is_composed(name):
        return False
    return any(shares(function, args) for args in examples)


def _is_composed(name: str) -> bool:
    """Return whether an overload of an operator is made of others, whose aliases its schema does not tell."""
    if not _composed:
        found = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
        _composed.update(operator.removeprefix("aten::").partition(".")[0] for operator in found)
    return name in _composed


_composed: set[str] = set()


def shares(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Return whether a call gives memory of its arguments; False where it fails, or writes (and is not admitted)."""
    own = _copied(args)
    given = [tensor for tensor in all_tensors(own) if tensor.numel()]
    memory = {tensor.untyped_storage().data_ptr() for tensor in given}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*own)
    except REFUSALS:
        return False
    if any(tensor._version for tensor in given):
        return False
    return any(tensor.untyped_storage().data_ptr() in memory for tensor in all_tensors(result))


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone()
    return type(value)(_copied(item) for item in value) if type(value) in (list, tuple) else value


def all_tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from all_tensors(item)


def admitted_python(name: str, function: Callable[..., Any], examples: list[tuple[Any, ...]]) -> str | None:
    """Return ``pure`` or ``random`` for a Python wrapper, None where a run shows that it writes, or nothing."""
    if any(takes_anything(variant) for variant in variants(function)):
        return None
    outcomes = [watched(function, args, {}) for args in examples]
    if not outcomes or any(outcome is None or outcome[1] for outcome in outcomes):
        return None
    draws = any(outcome is not None and outcome[0] for outcome in outcomes)
    # What draws in its example has parameters that keep it from drawing, or is random.
    return "random" if draws and not terms(python_parameters(function))[1] else "pure"
