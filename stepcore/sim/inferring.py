"""What the types of a stream are, from the tensors that it is made of, and whether tensors fit them."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.findings.diagnostics import StepError
from stepcore.sim.dtypes import torch_dtype
from stepcore.sizes.dim import Dim
from stepcore.surface.elements import as_element
from stepcore.text.wording import what_is
from stepcore.types import (
    DTYPE_BYTES,
    Buffer,
    Element,
    Scalar,
    Shape,
    Single,
    STuple,
    as_shape,
    components,
    dtype_of,
    element_shape,
)

# What ``fp32`` stands for: fp64 in the second run of a verification.
FLOATING: ContextVar[torch.dtype] = ContextVar("stepsmith_floating", default=torch.float32)
_SCALARS: Final = {torch_dtype(name, torch.float32): name for name in DTYPE_BYTES}


def inferred(
    tensors: Tensor | Sequence[Tensor], dtype: Element | Sequence[Any] | None, shape: Shape | None
) -> tuple[Element | Sequence[Any], Shape]:
    """Return element type and sizes, those that are None from the tensors.

    Raises:
        StepError: STEP208 for what is no tensor, or one of a dtype that streams do not have; STEP207 for a tensor with
            fewer sizes than its elements.
    """
    given: list[Any] = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if not given or not all(isinstance(item, Tensor) for item in given):
        whole: object = tensors
        found = "None" if whole is None else what_is(whole)
        way_out = "make a tensor of it with torch.as_tensor"
        text = f"a stream is made of a tensor, or of a list of them, and this is {found}"
        raise StepError("STEP208", f"{text}; {way_out}")
    if any(tensor.is_meta for tensor in given):
        raise StepError("STEP208", "a meta tensor has no values, so that no stream can carry it; make it on the cpu")
    if dtype is not None and shape is not None:
        return dtype, shape
    if shape is None:
        shape = _outer(given[0], dtype)
    if dtype is None:
        parts = [_element(tensor, shape) for tensor in given]
        dtype = parts[0] if len(parts) == 1 else STuple(parts)
    return dtype, shape


def _outer(tensor: Tensor, dtype: Element | Sequence[Any] | None) -> Shape:
    inner = 0 if dtype is None else len(element_shape(components(as_element(dtype))[0]))
    if tensor.dim() <= inner:
        found = f"a tensor of the shape {tuple(tensor.shape)} is too small for a stream"
        raise StepError(
            "STEP207", f"{found}, which has at least one size{f' before the {inner} of its elements' if inner else ''}"
        )
    return as_shape([Dim.of(size) for size in reversed(tensor.shape[: tensor.dim() - inner])])


def _element(tensor: Tensor, shape: Shape) -> Scalar | Buffer:
    name = _SCALARS.get(tensor.dtype)
    if name is None:
        known = ", ".join(str(dtype).removeprefix("torch.") for dtype in _SCALARS)
        raise StepError("STEP208", f"no stream has elements of {tensor.dtype}; convert the tensor to one of {known}")
    inner = tensor.shape[len(shape) :]
    return Buffer(Scalar(name), [int(size) for size in reversed(inner)]) if inner else Scalar(name)


def check_dtype(what: str, item: Single, tensor: object) -> None:
    """Raise STEP208 unless ``tensor`` is a tensor of the dtype that ``item`` declares."""
    wanted = torch_dtype(dtype_of(item), FLOATING.get())
    if not isinstance(tensor, Tensor):
        raise StepError("STEP208", f"{what} must be tensors, found {what_is(tensor)}")
    if tensor.dtype != wanted:
        raise StepError("STEP208", f"{what} needs the dtype {wanted} for {item}, found {tensor.dtype}")
