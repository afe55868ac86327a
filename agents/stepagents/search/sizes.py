"""Sizes and data sets that the search works on: small, all different, and drawn with seeds of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from stepcore.findings.errors import SimError
from stepcore.graph.ir import ProgramSpec
from stepcore.sim.resized import SizedTask, has_declared_shapes, resized
from stepcore.sizes.dim import DEFAULT_SIZES

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


def small_sizes(spec: ProgramSpec) -> Iterator[SizedTask]:
    """Yield the task at growing sizes at which its reference has the declared shapes."""
    seen: set[tuple[tuple[str, int], ...]] = set()
    for choice in _CHOICES:
        names = dict(spec.defaults)
        dims = {name: choice.get(name, size) for name, size in names.items()}
        try:
            sized = resized(spec, dims)
            key = tuple(sorted(sized.bindings.items()))
            if key not in seen and has_declared_shapes(sized.spec, sized.bindings, sized.world(seed=1)):
                yield sized
            seen.add(key)
        except SimError:
            continue
