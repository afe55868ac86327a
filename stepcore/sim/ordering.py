"""What of a run comes after which stores: a store tells of each tile that it wrote, and who reads that waits for it.

Streams are in order, so an element that depends on the acknowledgement of a tile comes after all tiles before it. Each
tile that a run stores has a number, counted over all stores. Of each element of a stream it is known up to which
number of each store it waited; what cannot be told (where elements are routed) counts as not waited.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import torch
from torch import Tensor

from stepcore.graph.typed import TypedNode
from stepcore.ops.pace import Read
from stepcore.sim.lengths import positions
from stepcore.sim.ragged import StreamData

# By stores (the number before their first tile): the number of the last tile that is written before each element.
Waited: TypeAlias = Mapping[int, Tensor]


class StoreOrder:
    """The acknowledgements of one run. ``here`` is what the operator that runs has waited for, by its inputs."""

    def __init__(self) -> None:
        self.last = 0  # the number of the last tile that was stored
        self.here: list[Waited] = []
        self._waited: dict[int, Waited] = {}  # by streams

    def enter(self, node: TypedNode) -> None:
        """Note that ``node`` runs now."""
        self.here = [self._waited.get(index, {}) for index in node.inputs]

    def leave(self, node: TypedNode, results: list[StreamData]) -> None:
        """Note what the results of ``node`` waited for."""
        for index, result in zip(node.outputs, results, strict=True):
            waited = self.elements(positions(result.sizes), node)
            if waited:
                self._waited[index] = waited

    def elements(self, count: int, node: TypedNode | None = None) -> Waited:
        """Return what each of ``count`` elements waited for that are made of the inputs, in step unless ``node`` says
        how.
        """
        found: dict[int, Tensor] = {}
        for slot, waited in enumerate(self.here):
            for store, numbers in waited.items():
                mapped = _mapped(numbers, count, node, slot)
                found[store] = mapped if store not in found else torch.maximum(found[store], mapped)
        return found

    def acknowledge(self, node: TypedNode, first: int) -> None:
        """Note that the result of ``node``, a store, tells of its tiles: those numbered after ``first``."""
        (index,) = node.outputs
        numbers = torch.arange(first + 1, self.last + 1)
        self._waited[index] = {**self.elements(len(numbers)), first: numbers}


def unordered(marks: Tensor, waited: Waited) -> bool:
    """Return whether an element (a row) meets the number of a tile for which it did not wait; 0 is none."""
    meets = marks > 0
    for first, numbers in waited.items():
        meets &= (marks <= first) | (marks > numbers.unsqueeze(-1))
    return bool(meets.any())


def _mapped(numbers: Tensor, count: int, node: TypedNode | None, slot: int) -> Tensor:
    """Return what ``count`` elements waited for that an operator makes of those that waited for ``numbers``."""
    given = len(numbers)
    if given == count:
        return numbers
    pace = None if node is None else node.op.pace
    if pace is None or not given or not count:
        return numbers.new_zeros(count)
    if pace.folds and given % count == 0:
        return numbers[given // count - 1 :: given // count]
    if pace.read(slot) in (Read.REPEATED, Read.SPREAD) and count % given == 0:
        return numbers.repeat_interleave(count // given)
    return numbers.new_zeros(count)
