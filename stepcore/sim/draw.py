"""Test data, drawn as the published tasks draw it: inputs first, then parameters, each component in order.

Numbers are drawn in fp32 whatever the run's dtype, so that a run in fp64 sees the same ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.graph.ir import Port
from stepcore.sim.dtypes import torch_dtype
from stepcore.types import Multihot, Single, components, dtype_of, tensor_shapes

_MOST: Final = 9  # of whole numbers whose greatest nobody says
# The dtype is spelled out: torch's default is fp64 while a run in fp64 is prepared.
_GENERATORS: Final[dict[str, Callable[[tuple[int, ...]], Tensor]]] = {
    "torch.rand": lambda shape: torch.rand(shape, dtype=torch.float32),
    "torch.randn": lambda shape: torch.randn(shape, dtype=torch.float32),
    "torch.ones": lambda shape: torch.ones(shape, dtype=torch.float32),
    "torch.zeros": lambda shape: torch.zeros(shape, dtype=torch.float32),
    "binary": lambda shape: torch.randint(0, 2, shape),
}


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Let torch's generator start from ``seed`` inside, and leave it as it was."""
    with torch.random.fork_rng(devices=[]):
        # Not torch.manual_seed: for devices on which nothing runs here that takes 1 ms.
        torch.default_generator.manual_seed(seed)
        yield


def draw(port: Port, bindings: Mapping[str, int], floating: torch.dtype) -> list[Tensor]:
    """Return one tensor per component of ``port`` from torch's generator.

    Shapes are those of the language page ("Order of sizes"); of a ragged port the packed values, where ``bindings`` are
    those of a run.
    """
    tensors: list[Tensor] = []
    for item, shape in zip(components(port.type.element), _shapes(port, bindings), strict=True):
        tensors.append(_component(port, item, shape).to(torch_dtype(dtype_of(item), floating)))
    return tensors


def _shapes(port: Port, bindings: Mapping[str, int]) -> list[tuple[int, ...]]:
    if any(size.is_ragged for size in port.type.shape):
        from stepcore.sim.open_sizes import packed_shapes  # most programs have static sizes

        return packed_shapes(port, bindings)
    return [tuple(size.bind(bindings) for size in shape) for shape in tensor_shapes(port.type)]


def _component(port: Port, item: Single, shape: tuple[int, ...]) -> Tensor:
    if port.data_gen is not None:
        generator = _GENERATORS.get(port.data_gen)
        if generator is None:
            raise SimError("STEP907", f"data_gen of {port.name} must be one of {', '.join(_GENERATORS)}")
        return generator(shape)
    if selects(item):
        least = port.minimum or 0
        return _selectors(shape, least, shape[-1] if port.maximum is None else port.maximum)
    dtype = torch_dtype(dtype_of(item), torch.float32)
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float32)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape)
    least, most = whole_limits(port)
    return torch.randint(least, most + 1, shape)


def whole_limits(port: Port) -> tuple[int, int]:
    """Return the least and the greatest whole number that is drawn for ``port``."""
    least = port.minimum or 0
    return least, max(least, _MOST) if port.maximum is None else port.maximum


def is_whole(item: Single) -> bool:
    """Whether a component holds whole numbers."""
    return not selects(item) and dtype_of(item) in ("int32", "int64")


def selects(item: Single) -> bool:
    """Whether a component is a selector, or a buffer of selectors."""
    return isinstance(item, Multihot) or isinstance(getattr(item, "element", None), Multihot)


def _selectors(shape: tuple[int, ...], least: int, most: int) -> Tensor:
    """Return selectors with ``least`` to ``most`` ones: for each a count, then the places, by a permutation."""
    result = torch.zeros(shape, dtype=torch.float32)
    length = shape[-1]
    for row in result.view(-1, length) if result.numel() else ():
        count = int(torch.randint(min(least, length), min(most, length) + 1, ()))
        row[torch.randperm(length)[:count]] = 1.0
    return result
