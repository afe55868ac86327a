"""Routing: what the search knows about the branches of a Partition, and how promising they are for a Merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from stepagents.search.anchors import Vector, moments, numbers
from stepagents.search.items import SearchStream
from stepagents.search.lattice import Choices, Column
from stepcore.fn.decl import FnDecl
from stepcore.sim.data import TensorData
from stepcore.sim.routes import routes_of
from stepcore.sim.world import World
from stepcore.types import Shape


@dataclass(slots=True)
class Branch:
    """Branch ``number`` of ``count`` under ``selector``.

    ``alone`` tells per data set which of its chunks go nowhere else: there the merged value depends on this branch
    only. ``targets`` are the signatures of what the reference has at those chunks.
    """

    selector: SearchStream
    number: int
    count: int
    alone: list[Tensor] = field(default_factory=list)
    targets: list[list[tuple[float, ...]]] = field(default_factory=list)

    @property
    def informative(self) -> bool:
        """Whether some chunk of every data set goes to this branch alone."""
        return bool(self.alone) and all(bool(mask.any()) for mask in self.alone)


def branches_of(selector: SearchStream, count: int, anchors: Sequence[Sequence[Tensor]]) -> list[Branch]:
    """Return the branches of ``selector`` with what ``anchors`` (one tensor per data set each) say about them."""
    branches = [Branch(selector, number, count) for number in range(count)]
    flat: list[Any] = [data.merge_dims(0, len(data.sizes) - 1) for data in selector.data]
    rows = [routes_of(data) for data in flat]
    singles = [(data.dense()[0] != 0).sum(1) == 1 for data in flat]
    for branch in branches:
        branch.alone = [single[row.indices[branch.number]] for single, row in zip(singles, rows, strict=True)]
    outer = [tuple(reversed(data.sizes)) for data in selector.data]
    for column in anchors:
        if all(tuple(t.shape[: len(sizes)]) == sizes for t, sizes in zip(column, outer, strict=True)):
            for branch in branches:
                if branch.informative:
                    branch.targets.append([
                        moments(numbers(t.flatten(0, len(sizes) - 1)[row.indices[branch.number]][mask]))
                        for t, sizes, row, mask in zip(column, outer, rows, branch.alone, strict=True)
                    ])  # fmt: skip
    return branches


def alone_values(branch: Branch, data: Sequence[TensorData]) -> list[list[Vector]]:
    """Return, per component and data set, the values of a branch's stream at the chunks that go nowhere else."""
    dense = [values.dense() for values in data]
    count = len(dense[0])
    return [
        [numbers(tensors[i][mask]) for tensors, mask in zip(dense, branch.alone, strict=True)] for i in range(count)
    ]


def merged_alone(worlds: Sequence[World], fn: FnDecl, item: SearchStream) -> list[TensorData]:
    """Return what merging this branch alone gives, chunk by chunk: the function applied once to its initial state."""
    result: list[TensorData] = []
    for world, data in zip(worlds, item.data, strict=True):
        lifted: Any = data.insert_dim(0, 1)
        runtime: Any = world.runtime
        with torch.inference_mode(), world.env.default_dtype():
            result.append(runtime.fold(fn, lifted, 1).force())
    return result


class Merges:
    """Which streams may be merged: per selector, function and common inner shape, the candidates of each branch."""

    def __init__(self) -> None:
        self._choices: dict[tuple[int, str, Shape], list[Choices[SearchStream]]] = {}

    def enter(self, item: SearchStream, branch: Branch, by: str, cost: float) -> list[Column[SearchStream]] | None:
        """Add a candidate of a merge ``by`` a function; returns the columns that it allows, None while some lack."""
        key = (branch.selector.index, by, item.shape[:-1])
        columns = self._choices.setdefault(key, [Choices() for _ in range(branch.count)])
        ready = [
            Column([(cost, item.index, item)]) if number == branch.number else choices.column()
            for number, choices in enumerate(columns)
        ]
        columns[branch.number].add(cost, item.index, item)
        return ready if all(columns) else None
