"""Test data for a traced function: at the sizes of its trace, at those asked for, at edge sizes. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Final

import torch
from torch import Tensor

from stepcore.sim.draw import torch_dtype

if TYPE_CHECKING:
    from stepagents.lower.verify import Results
    from stepagents.torchfn.traced import TracedFunction, TracedInput

_LARGEST: Final = 1 << 16  # numbers in one input at edge sizes and sizes that a user asked for
_SMALL: Final = (2, 3, 5, 7)


@dataclass(frozen=True, slots=True)
class Data:
    """The tensors of one check: by the name of the traced input, and what the function gives for them.

    ``results`` computes the function's results for tensors of the same names, in their dtype; ``sizes`` binds the
    symbols.
    """

    tensors: Mapping[str, Tensor]
    results: Results
    sizes: Mapping[str, int]


class Unfollowed(Exception):
    """Sizes of results do not depend on the symbols as the trace says: a program for all sizes would be wrong."""


def checks(traced: TracedFunction, seed: int = 0) -> tuple[list[Data], dict[str, str]]:
    """Return data for the checks of ``traced``, those at its own sizes first, and how each input is drawn.

    Where numbers around 0 give results that are no numbers, numbers from 0 to 1 are drawn instead. Sizes at which the
    function fails, or still gives no numbers, are left out; the list is empty if there are no others.

    Raises:
        Unfollowed: a result has other sizes than the trace says.
    """
    for positive in (False, True):
        found = [
            data
            for number, sizes in enumerate(_sizes(traced))
            if (data := _usable(traced, sizes, seed + number, positive))
        ]
        if found and found[0].sizes == dict(traced.dims):
            return found, {item.name: _generator(item, positive) for item in traced.inputs}
    return [], {}


def _sizes(traced: TracedFunction) -> Iterator[dict[str, int]]:
    dims = dict(traced.dims)
    yield dims
    if not dims:
        return
    others = [
        {**dims, **traced.bound},
        {name: traced.multiples.get(name, 1) for name in dims},
        {name: traced.multiples.get(name, 1) * _SMALL[place % len(_SMALL)] for place, name in enumerate(dims)},
    ]
    for sizes in others:
        if sizes != dims and all(prod(d.bind(sizes) for d in item.dims) <= _LARGEST for item in traced.inputs):
            yield sizes


def _usable(traced: TracedFunction, sizes: Mapping[str, int], seed: int, positive: bool) -> Data | None:
    tensors = _drawn(traced, sizes, seed, positive)

    def results(given: Mapping[str, Tensor]) -> Sequence[Tensor]:
        own = [given[item.name] for item in traced.inputs if item.kind == "user"]
        weights = {item.name: given[item.name] for item in traced.inputs if item.kind == "weight"}
        return traced.reference(*own, **weights)

    try:
        found = results(tensors)
    except Exception:  # noqa: BLE001  it is the user's code, and these sizes are ours
        return None
    fits = [tuple(result.shape) == tuple(size.bind(sizes) for size in output.dims) for result, output in zip(
        found, traced.outputs, strict=False)]  # fmt: skip
    if len(found) != len(traced.outputs) or not all(fits):
        bound = ", ".join(f"{name}={size}" for name, size in sizes.items())
        raise Unfollowed(f"with {bound} a result has other sizes than those that the trace found")
    if any(bool(torch.isnan(result).any()) for result in found):
        return None
    return Data(tensors, results, dict(sizes))


def _drawn(traced: TracedFunction, sizes: Mapping[str, int], seed: int, positive: bool) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return {
        item.name: item.value if item.value is not None else _tensor(item, sizes, generator, positive)
        for item in traced.inputs
    }


def _tensor(item: TracedInput, sizes: Mapping[str, int], generator: torch.Generator, positive: bool) -> Tensor:
    shape = [size.bind(sizes) for size in item.dims]
    dtype = torch_dtype(item.dtype, torch.float32)
    if not dtype.is_floating_point:
        return torch.randint(0, 2 if dtype == torch.bool else item.below or 10, shape, generator=generator).to(dtype)
    match _generator(item, positive):
        case "torch.rand":
            return torch.rand(shape, generator=generator).to(dtype)
        case "torch.ones":
            return torch.ones(shape, dtype=dtype)
        case "torch.zeros":
            return torch.zeros(shape, dtype=dtype)
        case "binary":
            return torch.randint(0, 2, shape, generator=generator).to(dtype)
    return torch.randn(shape, generator=generator).to(dtype)


def _generator(item: TracedInput, positive: bool) -> str:
    return "torch.rand" if positive and item.data_gen == "torch.randn" and item.kind == "user" else item.data_gen
