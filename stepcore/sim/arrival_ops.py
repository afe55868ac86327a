"""What operators do that go by arrival: in the stated order, streams ascending and lanes in turn, or the reverse."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from stepcore.sim.data import TensorData
from stepcore.sim.lengths import positions
from stepcore.sim.ragged import StreamData, behind_each_other, chunks
from stepcore.types import Multihot, Scalar


def arrived(streams: Sequence[StreamData], *, backwards: bool) -> tuple[StreamData, TensorData]:
    """Return the chunks of streams one stream after the other, and a selector that tells from which each came.

    Raises:
        SimError: STEP412 where chunks differ in their sizes.
    """
    order = list(reversed(range(len(streams)))) if backwards else list(range(len(streams)))
    counts = torch.tensor([positions(streams[number].sizes[-1:]) for number in order])
    which = torch.tensor(order).repeat_interleave(counts)
    return behind_each_other([streams[number] for number in order]), _selector(which, len(streams))


def dealt(data: StreamData, lanes: int, *, backwards: bool) -> tuple[StreamData, ...]:
    """Return the chunks of each lane, and a selector that tells to which each went."""
    which = torch.arange(positions(data.sizes[-1:])) % lanes
    if backwards:
        which = lanes - 1 - which
    given = [chunks(data, (which == lane).nonzero().flatten()) for lane in range(lanes)]
    return (*given, _selector(which, lanes))


def _selector(which: Tensor, branches: int) -> TensorData:
    bits = which.unsqueeze(1) == torch.arange(branches)
    return TensorData((len(which),), Multihot(Scalar("bool"), branches), [bits])
