"""When the simulator keeps a Map lazy, and how large the pieces are that it computes at a time. No torch here.

The memory bounds (:mod:`stepcore.costs.bounds`) and the runtime (:mod:`stepcore.sim.runtime`) share these rules, so
that the bounds know what the runtime is going to materialize. Sizes are in bytes; tests set them to tiny values to
reach the lazy paths with small data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod


@dataclass(slots=True)
class Policy:
    """Limits in bytes.

    ``lazy``: a Map whose inputs or results take more than this stays lazy, and a fold that takes more runs row by row
    instead of in stages. ``chunk``: working set of one piece of a large computation, about a second-level cache.
    ``reduce``: largest working set of a reduction over one outer position; beyond it the fold runs step by step.
    ``chain``: so many lazy Maps may hang on one another; it bounds what is computed twice where a copied stream is read
    in two ways.
    """

    lazy: int = 1 << 20
    chunk: int = 1 << 21
    reduce: int = 1 << 26
    chain: int = 12


POLICY = Policy()


def blocks(sizes: Sequence[int], bytes_each: int, chunk: int) -> Iterator[tuple[slice, ...]]:
    """Cut the positions of a tensor of ``sizes`` (outermost first) into pieces of at most ``chunk`` bytes.

    Yields a tuple of slices for the first axes; a piece holds at least one position. A tensor that fits yields ``()``.
    """
    inner = max(bytes_each, 1)
    if prod(sizes) * inner <= chunk:
        yield ()
        return
    axis = len(sizes)
    while axis and inner * sizes[axis - 1] <= chunk:
        axis -= 1
        inner *= sizes[axis]
    if not axis:
        yield ()
        return
    yield from _pieces(sizes[:axis], max(chunk // inner, 1))


def _pieces(sizes: Sequence[int], length: int) -> Iterator[tuple[slice, ...]]:
    if len(sizes) == 1:
        for start in range(0, sizes[0], length):
            yield (slice(start, start + length),)
        return
    for position in range(sizes[0]):
        for rest in _pieces(sizes[1:], length):
            yield (slice(position, position + 1), *rest)
