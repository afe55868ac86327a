"""Element types as dtypes of torch."""

from __future__ import annotations

from typing import Final

import torch

# None stands for the floating-point type of the run.
_DTYPES: Final[dict[str, torch.dtype | None]] = {
    "fp32": None, "fp16": torch.float16, "bf16": torch.bfloat16,
    "int32": torch.int32, "int64": torch.int64, "bool": torch.bool,
}  # fmt: skip


def torch_dtype(name: str, floating: torch.dtype) -> torch.dtype:
    """Return the dtype of a key of ``types.DTYPE_BYTES`` in a run whose ``fp32`` is ``floating``.

    A run in fp64 computes every floating-point type in fp64.
    """
    found = _DTYPES[name]
    if found is None or (found.is_floating_point and floating == torch.float64):
        return floating
    return found
