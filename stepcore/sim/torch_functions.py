"""Functions of PyTorch that a user's code replaced: found when that code is done, and put back.

Results are drawn, computed and compared with these functions, in the user's own verification and, as a worker runs file
after file, in those of others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import is_not
from types import FunctionType
from typing import Any, Final

import torch
from torch import Tensor

_SPACES: Final[dict[str, Any]] = {
    "torch": torch,
    "torch.Tensor": Tensor,
    "torch.nn.functional": torch.nn.functional,
    "torch.linalg": torch.linalg,
    "math": math,
}
_SHOWN: Final = 3


class ReplacedFunctions(Exception):
    """A user's code replaced functions of PyTorch; ``names`` are those, with their modules."""

    def __init__(self, names: list[str]) -> None:
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        text = f"the file replaces {shown}, with which results are computed and compared"
        super().__init__(f"{text}; give your function another name, and call that one")
        self.names = names


class TorchFunctions:
    """The functions as they are now."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before = {name: dict(vars(space)) for name, space in _SPACES.items()}

    def put_back(self) -> list[str]:
        """Put back what was replaced since, and return its names.

        What PyTorch replaces by functions of its own (``torch.compile`` does, ``set_default_tensor_type``) is none.
        """
        found: list[str] = []
        for where, before in self._before.items():
            space, now = _SPACES[where], vars(_SPACES[where])
            if any(map(is_not, before.values(), map(now.get, before))):
                for name, value in before.items():
                    if now.get(name) is not value and _computes(value) and not _is_its_own(now.get(name)):
                        setattr(space, name, value)
                        found.append(f"{where}.{name}")
            if space is Tensor and len(now) > len(before):
                found += _taken_off(set(now) - set(before))
        return found


def _taken_off(names: set[str]) -> Iterator[str]:
    """Take what hides a method of all tensors off their class; a method of a new name hides nothing."""
    for name in sorted(names):
        if any(hasattr(base, name) for base in Tensor.__mro__[1:]):
            delattr(Tensor, name)
            yield f"torch.Tensor.{name}"


def _computes(value: object) -> bool:
    """Whether results may depend on what stood under a name; modules keep flags and caches of their own, too."""
    return callable(value) or type(value) in (torch.dtype, float)


def _is_its_own(value: Any) -> bool:
    """Whether PyTorch defined a function or class; what wraps one may claim its name, but not its globals."""
    home = value.__globals__.get("__name__") if type(value) is FunctionType else None
    if issubclass(type(value), type):
        home = vars(value).get("__module__")
    return str(home).partition(".")[0] == "torch"
