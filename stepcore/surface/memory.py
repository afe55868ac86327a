"""Parameters of scripts as memory off chip: in a script a parameter is a tensor, and so is what operators are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from stepcore.ops.memory import OffChipTensor
from stepcore.surface.functions import DECLARED
from stepcore.types import DTYPE_ALIASES, DTYPE_BYTES, Scalar, as_shape

_DTYPES: Final[Mapping[str, str]] = {**{name: name for name in DTYPE_BYTES}, **DTYPE_ALIASES, "float64": "fp32"}


class HeldMemory(OffChipTensor):
    """Memory off chip whose content is there: ``tensor``."""

    tensor: Any = field(default=None, compare=False)


def memory_of(value: Any) -> Any:
    """Return a tensor as memory: as the program that runs declares it, else by its shape; other values as they are."""
    for tensor, name, declared, written in DECLARED.get():
        if tensor is value and isinstance(declared.element, Scalar):
            return HeldMemory(name, declared.element, declared.shape, written, value)
    kind = type(value)
    is_tensor = kind.__module__.partition(".")[0] == "torch" and hasattr(value, "dtype") and hasattr(value, "shape")
    dtype = _DTYPES.get(str(value.dtype).removeprefix("torch.")) if is_tensor else None
    if dtype is None:
        return value
    return HeldMemory("the tensor", Scalar(dtype), as_shape(int(size) for size in reversed(value.shape)), True, value)
