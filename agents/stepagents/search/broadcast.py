"""The stash-and-repeat idiom: inserting dimensions anywhere into a stream.

``Repeat`` adds innermost dimensions only, so what must stay inside is stashed in a buffer: Bufferize, Repeat,
Streamify.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stepcore.ops.base import Operator
from stepcore.ops.bufferize import Bufferize
from stepcore.ops.flatten import Flatten
from stepcore.ops.promote import Promote
from stepcore.ops.repeat import Repeat
from stepcore.ops.streamify import Streamify
from stepcore.sim.data import TensorData
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Element, Shape, STuple


def missing(positions: Sequence[int], target: Shape) -> list[int]:
    """Return the positions of ``target`` that an embedded stream lacks."""
    return [i for i in range(len(target)) if i not in set(positions)]


def insertion_ops(element: Element, positions: Sequence[int], target: Shape) -> tuple[Operator, ...] | None:
    """Return the operators that bring a stream, embedded at ``positions``, to the shape ``target``.

    None where the language has no way: tuples cannot be stashed.
    """
    ops: list[Operator] = []
    held = set(positions)
    rank = len(positions)
    for start, stop in _runs(missing(positions, target)):
        sizes = target[start:stop]
        if start == 0:
            ops += [Repeat(n=size) for size in reversed(sizes)]
        elif isinstance(element, STuple):
            return None
        else:
            ops += _stashed(element, start, rank, sizes)
        held.update(range(start, stop))
        rank += stop - start
    return tuple(ops)


def _runs(found: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for position in found:
        if runs and runs[-1][1] == position:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return runs


def _stashed(element: Element, at: int, count: int, sizes: Sequence[Dim]) -> list[Operator]:
    """Insert ``sizes`` at dimension ``at`` of a stream with ``count`` dimensions."""
    outermost = at == count
    ops: list[Operator] = [Promote(b=count)] if outermost else []
    ops.append(Bufferize(a=at))
    ops += [Repeat(n=size) for size in reversed(sizes)]
    ops.append(Streamify())
    if isinstance(element, Buffer):  # Streamify has opened the element, too
        ops.append(Bufferize(a=len(element.shape)))
    if outermost:
        ops.append(Flatten(L=[count + len(sizes)]))
    return ops


def inserted(data: Sequence[TensorData], positions: Sequence[int], sizes: Sequence[int]) -> list[TensorData]:
    """Return the values with the missing dimensions of ``sizes`` (all of the target's) inserted; costs nothing."""
    held = set(positions)
    result: list[TensorData] = []
    for values in data:
        changed: Any = values
        for position, size in enumerate(sizes):
            if position not in held:
                changed = changed.insert_dim(position, size)
        result.append(changed)
    return result
