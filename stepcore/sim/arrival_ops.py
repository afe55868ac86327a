"""What operators do that go by arrival: in the order that timing decided, in the stated one, or in its reverse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Final

import torch
from torch import Tensor

from stepcore.cycles.routes import dealt as dealt_in
from stepcore.cycles.routes import gathered
from stepcore.cycles.routes import merged as merged_in
from stepcore.records import Record
from stepcore.sim.data import TensorData
from stepcore.sim.lengths import positions
from stepcore.sim.ragged import StreamData, behind_each_other, chunks
from stepcore.types import Multihot, Scalar


class ArrivalOrder(Record):
    """The order in which chunks arrive, by node: ``decided`` where timing said it (:class:`ProgramRoutes` has it so).

    Elsewhere, and behind its end, streams come in ascending order, lanes in turn and branches ascending; at the nodes
    of ``backwards`` all of that in reverse.
    """

    decided: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    backwards: frozenset[int] = frozenset()

    def merged(self, node: int | None, counts: Sequence[int]) -> Tensor:
        """Return the stream of each chunk, of streams of so many."""
        if known := self._known(node):
            return torch.tensor(merged_in(known, counts), dtype=torch.int64)
        found = torch.arange(len(counts)).repeat_interleave(torch.tensor(counts))
        return found.flip(0) if node in self.backwards else found

    def next_of(self, node: int, taken: int, waiting: Sequence[int]) -> int:
        """Return from which of the streams ``waiting``, ascending, the chunk comes after ``taken`` others."""
        if node in self.backwards:
            return waiting[-1]
        known = self._known(node)
        return known[taken] if taken < len(known) and known[taken] in waiting else waiting[0]

    def dealt(self, node: int | None, lanes: int, count: int) -> Tensor:
        """Return the lane of each of ``count`` chunks."""
        if known := self._known(node):
            return torch.tensor(dealt_in(known, lanes, count), dtype=torch.int64)
        found = torch.arange(count) % lanes
        return lanes - 1 - found if node in self.backwards else found

    def gathered(self, node: int | None, bits: Tensor) -> tuple[Tensor, Tensor] | None:
        """Return the position and the branch of each chunk that Reassemble takes; None where they are ascending."""
        if node in self.backwards:
            position, branch = bits.flip(1).nonzero().unbind(1)
            return position, bits.shape[1] - 1 - branch
        if not self._known(node):
            return None
        rows = [tuple(branch for branch, is_set in enumerate(row) if is_set) for row in bits.tolist()]
        pairs = torch.tensor(gathered(self._known(node), rows), dtype=torch.int64).view(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    def _known(self, node: int | None) -> tuple[int, ...]:
        return () if node is None or node in self.backwards else self.decided.get(node, ())


STATED: Final = ArrivalOrder()


def arrived(streams: Sequence[StreamData], order: ArrivalOrder, node: int | None) -> tuple[StreamData, TensorData]:
    """Return the chunks of streams in the order in which they come, and a selector that tells from which each came.

    Raises:
        SimError: STEP412 where chunks differ in their sizes.
    """
    counts = [positions(stream.sizes[-1:]) for stream in streams]
    which = order.merged(node, counts)
    whole = behind_each_other(streams)
    if bool((which.diff() < 0).any()):
        places = torch.empty_like(which)
        places[which.argsort(stable=True)] = torch.arange(len(which))
        whole = chunks(whole, places)
    return whole, came_from(which, len(streams))


def dealt(data: StreamData, lanes: int, order: ArrivalOrder, node: int | None) -> tuple[StreamData, ...]:
    """Return the chunks of each lane, and a selector that tells to which each went."""
    which = order.dealt(node, lanes, positions(data.sizes[-1:]))
    given = [chunks(data, (which == lane).nonzero().flatten()) for lane in range(lanes)]
    return (*given, came_from(which, lanes))


def came_from(which: Tensor, branches: int) -> TensorData:
    """Return the selector that names one of so many branches at each position."""
    bits = which.unsqueeze(1) == torch.arange(branches)
    return TensorData((len(which),), Multihot(Scalar("bool"), branches), [bits])
