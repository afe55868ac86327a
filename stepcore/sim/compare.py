"""Comparison of results with references: the defaults of ``torch.testing.assert_close``, quick where all is well."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.findings.verdict import Comparison, MismatchPlace
from stepcore.text.wording import counted

# dtype -> (relative, absolute). A run in fp64 stands in for one in fp32 without its rounding, so it has fp32's
# tolerance; types that are not listed have to be equal.
TOLERANCES: Final[dict[torch.dtype, tuple[float, float]]] = {
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1.3e-6, 1e-5),
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
}

_ROUNDED: Final = ({torch.float64, torch.float16}, {torch.float64, torch.bfloat16})


def compare(
    results: Sequence[Sequence[Any]], references: Sequence[Sequence[Any]], *, equal_nan: bool = False
) -> Comparison:
    """Compare the components of each output with their references, tensors or nested lists in packed form.

    NaN equals nothing, NaN included, but for ``equal_nan``: two runs of one program are alike where both give NaN.
    """
    largest = 0.0
    failed: Comparison | None = None
    if len(results) != len(references):
        text = f"{counted(len(results), 'output')}, but {counted(len(references), 'reference')}"
        return Comparison(False, math.inf, text)
    for output, (got, wanted) in enumerate(zip(results, references, strict=True)):
        if len(got) != len(wanted):
            text = f"output {output} has {counted(len(got), 'component')}, but {counted(len(wanted), 'reference')}"
            return Comparison(False, math.inf, text)
        for component, pair in enumerate(zip(got, wanted, strict=True)):
            result, reference = _as_rounded(*pair)
            compared = _slow if isinstance(result, Tensor) and isinstance(reference, Tensor) else _lists
            error = _quick_error(result, reference) if compared is _slow else None
            if error is None:
                one = compared(result, reference, output, component, equal_nan)
                error = one.max_abs_error
                failed = failed or (None if one.ok else one)
            largest = max(largest, error)
    if failed is None:
        return Comparison(True, largest)
    return Comparison(False, largest, failed.detail, failed.mismatch)


def _as_rounded(result: Any, reference: Any) -> tuple[Any, Any]:
    """Return both sides with as few bits as one of them has: in a run in fp64 either may be rounded by a cast."""
    both = isinstance(result, Tensor) and isinstance(reference, Tensor)
    if both and result.dtype != reference.dtype and {result.dtype, reference.dtype} in _ROUNDED:
        kind = reference.dtype if result.dtype == torch.float64 else result.dtype
        return result.to(kind), reference.to(kind)
    return result, reference


def _quick_error(result: Tensor, reference: Tensor) -> float | None:
    """Return the largest error where it is within the absolute tolerance, None where a closer look is needed."""
    dtype = result.dtype
    if dtype != reference.dtype or result.shape != reference.shape or not dtype.is_floating_point:
        return None
    # Three plain operations: torch.dist takes five times as long.
    error: float = (result - reference).abs_().max().item() if result.numel() else 0.0
    # False for NaN too.
    return error if error <= TOLERANCES[dtype][1] else None


def _slow(result: Tensor, reference: Tensor, output: int, component: int, equal_nan: bool) -> Comparison:
    where = f"output {output}" + (f", component {component}" if component else "")
    if result.shape != reference.shape:
        text = f"{where} has the shape {tuple(result.shape)}, its reference {tuple(reference.shape)}"
        return Comparison(False, math.inf, text)
    if result.dtype != reference.dtype:
        return Comparison(False, math.inf, f"{where} has the dtype {result.dtype}, its reference {reference.dtype}")
    relative, absolute = TOLERANCES.get(result.dtype, (0.0, 0.0))
    close = torch.isclose(result, reference, rtol=relative, atol=absolute, equal_nan=equal_nan)
    error = _largest_error(result, reference)
    if bool(close.all()):
        return Comparison(True, error)
    position = int((~close).flatten().to(torch.uint8).argmax())
    index = _unravelled(position, result.shape)
    got, expected = float(result[index]), float(reference[index])
    count, total = int((~close).sum()), close.numel()
    text = f"{where} differs at {list(index)}: expected {expected:.7g}, found {got:.7g} ({count} of {total} differ)"
    if math.isnan(got) and math.isnan(expected):
        text += "; both are NaN, and NaN equals nothing"
    return Comparison(False, error, text, MismatchPlace(output, component, index, expected, got))


def _lists(result: Any, reference: Any, output: int, component: int, equal_nan: bool) -> Comparison:
    """Compare results with ragged sizes: first how long their lists are, then what stands in them."""
    from stepcore.sim.lengths import place_of  # only programs of generation 2 have such results
    from stepcore.sim.nested import as_lists, unlike

    where = f"output {output}" + (f", component {component}" if component else "")
    if isinstance(result, Tensor):  # a size that is declared as ragged may be a static one
        result = as_lists(result, len(reference.levels))
    text = unlike(result, reference)
    if text:
        return Comparison(False, math.inf, f"{where} {text}")
    if not result.values.numel():  # nothing says of what the empty lists of a reference would be
        return Comparison(True, 0.0)
    found = _slow(result.values, reference.values.reshape(result.values.shape), output, component, equal_nan)
    if found.mismatch is None:
        return found
    first, *inner = found.mismatch.index
    index = (*place_of(first, result.levels), *inner)
    detail = found.detail.replace(str(list(found.mismatch.index)), str(list(index)), 1)
    return replace(found, detail=detail, mismatch=replace(found.mismatch, index=index))


def close(result: Tensor, reference: Tensor, times: float = 1.0) -> bool:
    """Whether a verdict would not tell two tensors apart; quicker than :func:`compare`, which says why not.

    ``times`` multiplies the tolerances.
    """
    if result.shape != reference.shape or result.dtype != reference.dtype:
        return False
    relative, absolute = TOLERANCES.get(result.dtype, (0.0, 0.0))
    return bool(torch.isclose(result, reference, rtol=times * relative, atol=times * absolute).all())


def _unravelled(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    # torch.unravel_index imports sympy at its first call, which takes half a second.
    index: list[int] = []
    for size in reversed(shape):
        position, place = divmod(position, size)
        index.append(place)
    return tuple(reversed(index))


def _largest_error(result: Tensor, reference: Tensor) -> float:
    if not result.numel():
        return 0.0
    # Equal infinities differ by nothing, although their difference is no number.
    result, reference = result.double(), reference.double()
    error = float(torch.where(result == reference, 0.0, (result - reference).abs()).max())
    return math.inf if math.isnan(error) else error
