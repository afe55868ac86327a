"""Parts of anchors: whether all that a stream holds occurs somewhere in one tensor of the reference.

A branch of a Partition holds some rows of what a reference often computes for all. Rows are compared along the last
axis of the stream's elements: each *fiber* is hashed, and its hash looked up among the fibers of every anchor along any
axis of the same size, wherever the reference has that axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from stepagents.search.anchors import Vector
from stepcore.sim.data import TensorData

_TOLERANCE = 1e-8
_MOST_DIMENSIONS = 6


@dataclass(slots=True)
class _Index:
    """All fibers of one length: sorted hashes of one data set, and the anchor that each belongs to."""

    hashes: Vector
    owners: npt.NDArray[np.int64]

    def find(self, value: float) -> set[int]:
        """Return the anchors that hold a fiber of this hash."""
        gap = _TOLERANCE * (1.0 + abs(value))
        low, high = np.searchsorted(self.hashes, (value - gap, value + gap))
        return set(self.owners[low:high].tolist())


class Fibers:
    """The fibers of anchors (a list over data sets each), indexed when they are first asked for."""

    def __init__(self, anchors: Sequence[Sequence[Tensor]], seed: int = 0) -> None:
        self._anchors = anchors
        self._weights = np.random.default_rng(seed).uniform(0.5, 1.5, 1 << 12)
        self._indices: dict[int, list[_Index]] = {}

    def holder(self, data: Sequence[TensorData], component: int) -> int | None:
        """Return the first anchor that holds all fibers of a component on every data set; None where none does."""
        found: set[int] | None = None
        for number, values in enumerate(data):
            tensor = values.dense()[component]
            length = tensor.shape[-1] if tensor.dim() > len(values.sizes) else 1
            if not tensor.numel() or length > self._weights.size:
                return None
            index = self._index(length)[number]
            hashes = tensor.detach().numpy().reshape(-1, length) @ self._weights[:length]
            for value in np.unique(hashes):
                owners = index.find(float(value))
                found = owners if found is None else found & owners
                if not found:
                    return None
        return min(found) if found else None

    def _index(self, length: int) -> list[_Index]:
        found = self._indices.get(length)
        if found is None:
            runs = zip(*self._anchors, strict=True)
            found = self._indices[length] = [self._built(run, length) for run in runs]
        return found

    def _built(self, tensors: Sequence[Tensor], length: int) -> _Index:
        hashes: list[Vector] = [np.zeros(0)]
        owners: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for owner, tensor in enumerate(tensors):
            array = tensor.detach().numpy()
            if array.ndim > _MOST_DIMENSIONS:
                continue
            if length == 1:
                hashes.append(array.reshape(-1) * self._weights[0])
                owners.append(np.full(array.size, owner))
                continue
            for axis, size in enumerate(array.shape):
                if size == length:
                    hashes.append(np.moveaxis(array, axis, -1).reshape(-1, length) @ self._weights[:length])
                    owners.append(np.full(hashes[-1].size, owner))
        joint = np.nan_to_num(np.concatenate(hashes), posinf=1e300, neginf=-1e300)
        order = np.argsort(joint)
        return _Index(joint[order], np.concatenate(owners)[order])
