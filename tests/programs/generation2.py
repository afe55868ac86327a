"""Random well-typed programs of generation 2, as tasks: ragged lists, routing, sizes that only a run knows, tiles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from programs import open_sizes
from programs.ragged import ragged_task
from programs.routed import routed_task
from programs.tiled import tiled_task

_COPY: Final = re.compile(r"^( *)(\w+), (\w+) = step\.Copy\(\)\.apply\((.*)\)$", re.MULTILINE)


def _open_sizes(rng: Random) -> str:
    return open_sizes.generate(rng, 8)[0]


# Programs of open sizes are checked once more for each operator that is drawn, so fewer of them are.
FAMILIES: Final[tuple[Callable[[Random], str], ...]] = (
    ragged_task, routed_task, tiled_task, ragged_task, routed_task, tiled_task, _open_sizes,
)  # fmt: skip


def generation2_task(seed: int) -> str:
    """Return the task of a seed, the families in turn."""
    return FAMILIES[seed % len(FAMILIES)](Random(seed))


def each_without_a_copy(task: str) -> Iterator[str]:
    """Yield the task once for each of its copies that are both consumed, with the original in the place of both."""
    for found in _COPY.finditer(task):
        indent, one, other, given = found.groups()
        if all(len(re.findall(rf"\b{name}\b", task)) > 1 for name in (one, other)):
            lines = f"{indent}{one} = {given}\n{indent}{other} = {one}"
            yield task[: found.start()] + lines + task[found.end() :]
