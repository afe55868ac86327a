"""Operations that mark a loop over time in a traced graph, whose body then stands there once. Loads torch.

What lies between a loop's first mark and its :func:`finish` is one round:

- ``loop_state(first)`` is what the round before left, ``first`` in the first round;
- ``loop_item(base, dim, start, step)`` is ``base.select(dim, start + step * round)``;
- ``loop_end(count, states, updates, results)`` gives each update after the last round, then each result of all rounds
  on top of each other (a new first dimension).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import torch
from torch import Tensor

_LIBRARY: Final[Any] = torch.library.Library("stepsmith", "FRAGMENT")  # type: ignore[no-untyped-call]
_LIBRARY.define("loop_state(Tensor first) -> Tensor")
_LIBRARY.define("loop_item(Tensor base, int dim, int start, int step) -> Tensor")
_LIBRARY.define("loop_end(int count, Tensor[] states, Tensor[] updates, Tensor[] results) -> Tensor[]")


def _state(first: Tensor) -> Tensor:
    return torch.empty_like(first)


def _item(base: Tensor, dim: int, start: int, step: int) -> Tensor:
    return torch.empty_like(base.select(dim, 0))


def _end(count: int, states: Sequence[Tensor], updates: Sequence[Tensor], results: Sequence[Tensor]) -> list[Tensor]:
    return [*map(torch.empty_like, updates), *(each.new_empty((count, *each.shape)) for each in results)]


_LIBRARY.impl("loop_state", _state, "Meta")
_LIBRARY.impl("loop_item", _item, "Meta")
_LIBRARY.impl("loop_end", _end, "Meta")

STATE: Final[Any] = torch.ops.stepsmith.loop_state.default
ITEM: Final[Any] = torch.ops.stepsmith.loop_item.default
END: Final[Any] = torch.ops.stepsmith.loop_end.default
MARKS: Final = frozenset({STATE, ITEM, END})


def round_of(base: Tensor, dim: int, *, backwards: bool = False) -> Tensor:
    """Return the slice of ``base`` along ``dim`` that a round reads, the last one first if ``backwards``."""
    found: Tensor = ITEM(base, dim, base.shape[dim] - 1 if backwards else 0, -1 if backwards else 1)
    return found


def finish(
    count: int, states: Sequence[Tensor], updates: Sequence[Tensor], results: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """End a loop of ``count`` rounds; return the last updates, and the results of all rounds."""
    found = END(count, list(states), list(updates), list(results))
    return found[: len(updates)], found[len(updates) :]
