"""Sizes and data sets that the search works on: small, all different, and drawn with seeds of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import torch

from stepcore.dim import DEFAULT_SIZES
from stepcore.ir import ProgramSpec
from stepcore.sim.errors import SimError
from stepcore.sim.fnvec import FnEnv, FnRuntimeError
from stepcore.sim.world import World
from stepcore.types import tensor_shapes

# Values for the sizes M, N, K, D and then for any others, from small to large: even where a task may halve a size, and
# at least as large as the counts (top-3, say) that tasks ask for. The published sizes come last.
_CHOICES: Final[tuple[Mapping[str, int], ...]] = (
    {"M": 4, "N": 3, "K": 5, "D": 6},
    {"M": 5, "N": 4, "K": 6, "D": 8},
    {"M": 6, "N": 4, "K": 10, "D": 12},
    {"M": 6, "N": 4, "K": 8, "D": 16},
    DEFAULT_SIZES,
    {"M": 8, "N": 4, "K": 12, "D": 16},
)


@dataclass(frozen=True, slots=True)
class SizedTask:
    """A specification whose sizes are bound: ``spec`` with them as its defaults, ``bindings`` all of them."""

    spec: ProgramSpec
    bindings: dict[str, int]

    def world(self, seed: int) -> World:
        """Return the task in fp64 on data of ``seed``, with its references computed.

        Raises:
            SimError: data cannot be drawn, or the reference fails at these sizes.
        """
        world = World(self.spec, self.bindings, seed, None, torch.float64)
        world.references()
        return world


def resized(spec: ProgramSpec, dims: Mapping[str, int]) -> SizedTask:
    """Bind sizes to ``dims``; those that ``global`` computes from them are computed again.

    Raises:
        SimError: ``global`` fails at these sizes.
    """
    fixed = dict(spec.fixed)
    wanted = {**dict(spec.defaults), **{name: size for name, size in dims.items() if name not in fixed}}
    try:
        with torch.random.fork_rng(devices=[]), torch.inference_mode():
            torch.manual_seed(0)
            found = FnEnv(spec.scope, {**wanted, **fixed}).bindings
    except FnRuntimeError as error:
        raise SimError(error.code, error.message, span=error.span) from None
    fixed = {name: found[name] for name in fixed}
    return SizedTask(replace(spec, fixed=tuple(fixed.items()), defaults=tuple(wanted.items())), {**wanted, **fixed})


def small_sizes(spec: ProgramSpec) -> Iterator[SizedTask]:
    """Yield the task at growing sizes at which its reference has the declared shapes."""
    seen: set[tuple[tuple[str, int], ...]] = set()
    for choice in _CHOICES:
        names = dict(spec.defaults)
        dims = {name: choice.get(name, size) for name, size in names.items()}
        try:
            sized = resized(spec, dims)
            key = tuple(sorted(sized.bindings.items()))
            if key not in seen and _fits(sized):
                yield sized
            seen.add(key)
        except SimError:
            continue


def _fits(sized: SizedTask) -> bool:
    references = sized.world(seed=1).references()
    for port, column in zip(sized.spec.outputs or (), references, strict=True):
        for shape, tensor in zip(tensor_shapes(port.type), column, strict=True):
            if tuple(size.bind(sized.bindings) for size in shape) != tuple(tensor.shape):
                return False
    return True
