"""How large what a call makes will be, found out without making it: the call runs once on tensors that have no memory.

Torch's *meta* device computes shapes only. Every operator below a function is looked at, so that what a function makes
on the way counts as well as its result. The first such call may load shape functions for seconds: the guard asks only
where arithmetic on sizes cannot exclude that a tensor is too large.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.sim.fnvec.batch import common_shape
from stepcore.sim.fnvec.dispatch import UncompiledMode, tensors_in
from stepcore.sim.fnvec.errors import EvaluationRefused

_META: Final = torch.device("meta")
_REMEMBERED: Final = 4096
_known: dict[Any, int | None] = {}  # calls -> numbers in their largest tensor


class _Meter(UncompiledMode):  # type: ignore[no-untyped-call]
    """Notes the largest tensor; ends the call at one beyond ``limit``."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit
        self.largest = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        result = _broadcast(args) if torch.Tag.pointwise in func.tags else self._elsewhere(func, args, kwargs)
        for tensor in tensors_in(result):
            self.largest = max(self.largest, tensor.numel())
        if self.largest > self.limit:
            raise _TooLarge
        return result

    @staticmethod
    def _elsewhere(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an operator, whatever device it would make its tensors on."""
        if any(argument.name == "device" for argument in func._schema.arguments):
            kwargs["device"] = _META
        return func(*args, **kwargs)


def _broadcast(args: Sequence[Any]) -> Tensor:
    """Return what an operator element by element gives, as far as sizes go."""
    operands = list(tensors_in(args))
    if len(operands) == 1:
        return operands[0]
    dtype = operands[0].dtype
    for operand in operands[1:]:
        dtype = torch.promote_types(dtype, operand.dtype)
    return torch.empty(common_shape(tensor.shape for tensor in operands), dtype=dtype, device=_META)


class _TooLarge(Exception):
    """A tensor beyond the limit would be made."""


def largest(
    name: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], limit: int
) -> int | None:
    """Return how many numbers the largest tensor of a call has, None where only a run can tell.

    ``limit + 1`` stands for anything beyond ``limit``. Calls with equal shapes and numbers are measured once.
    """
    try:
        key = (name, id(function), limit, tuple(map(_key, args)), tuple((k, _key(v)) for k, v in kwargs.items()))
        if key in _known:
            return _known[key]
    except TypeError:  # not hashable: nothing that a body could hold often
        key = None
    measured = _measured(function, args, kwargs, limit)
    if key is not None:
        if len(_known) >= _REMEMBERED:
            _known.clear()
        _known[key] = measured
    return measured


def _measured(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], limit: int) -> int | None:
    meter = _Meter(limit)
    try:
        # Outside of inference mode, composed operators reach the meter in their parts.
        with torch.inference_mode(False), torch.no_grad():
            if isinstance(function, torch.nn.Module):
                function = copy.deepcopy(function).to(_META)
            plain = [_weightless(value) for value in args]
            named = {key: _weightless(value) for key, value in kwargs.items()}
            with meter:
                function(*plain, **named)
    except _TooLarge:
        return limit + 1
    except EvaluationRefused:
        raise
    except Exception:  # noqa: BLE001 - what cannot be measured: torch says what is wrong when it runs
        return None
    return meter.largest


def _weightless(value: Any) -> Any:
    if isinstance(value, Tensor):
        return torch.empty_strided(tuple(value.shape), value.stride(), dtype=value.dtype, device=_META)
    if type(value) in (list, tuple):
        return type(value)(_weightless(item) for item in value)
    return value


def _key(value: Any) -> Any:
    if isinstance(value, Tensor):
        return Tensor, value.shape, value.stride(), value.dtype
    if isinstance(value, list | tuple):
        return tuple(map(_key, value))
    return type(value), value
