"""Recording what a reference computes: every tensor on the way, those inside compound operations included.

Two things are put together that the record holds in another form: what a loop computes round by round (a scan has it in
one stream), and the pieces of what was computed on a concatenation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import torch
from torch import Tensor

from stepagents.search.parts import longer_way, parts_of
from stepcore.sim.fnvec.dispatch import UncompiledMode
from stepcore.sim.world import World

_MAX_TENSORS: Final = 1600
_MAX_NUMBERS: Final = 200_000
_LONGEST: Final = 80  # operations in one round of a loop
_MAX_PIECES: Final = 4


def intermediates(world: World) -> list[Tensor]:
    """Return the tensors that the reference of ``world`` computes, in order, in fp64."""
    recorder = _Recorder()
    data = world.reference_data()  # copies are no part of what the reference computes
    with recorder:
        world.compute_references(data)
    return [tensor.double() for tensor in recorder.found()]


class _Recorder(UncompiledMode):  # type: ignore[no-untyped-call]
    """Keeps the result of every operation."""

    def __init__(self) -> None:
        super().__init__()
        self._seen: list[Tensor] = []
        self._derived: list[Tensor] = []
        self._results: dict[int, tuple[int, Tensor]] = {}  # by id: place in the record, and the result, kept alive
        self._joints: list[tuple[tuple[int, ...], int, list[int]]] = []  # concatenations: shape, dimension, sizes

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        with self:
            result = func.decompose(*args, **kwargs)
        if result is NotImplemented:
            result = func(*args, **kwargs)
            longer = longer_way(func)
            if longer is not None:
                with self:
                    longer(*args, **kwargs)
            for part in parts_of(func, args, kwargs):
                self._note(part)
            if func.overloadpacket.__name__ in ("stack", "cat") and isinstance(result, Tensor):
                self._joined(args[0], result, *args[1:], **kwargs)
        self._note(result)
        return result

    def found(self) -> Iterator[Tensor]:
        """Yield everything, what was computed itself first."""
        yield from self._seen
        yield from self._derived

    def _note(self, value: Any) -> None:
        if isinstance(value, Tensor):
            if 0 < value.numel() <= _MAX_NUMBERS and len(self._seen) < _MAX_TENSORS:
                self._results[id(value)] = len(self._seen), value
                self._seen.append(value.detach().clone())
                self._note_pieces(value)
        elif isinstance(value, list | tuple):
            for item in value:
                self._note(item)

    def _note_pieces(self, value: Tensor) -> None:
        for shape, dim, sizes in self._joints:
            if tuple(value.shape) == shape:
                self._derived += (piece.detach().clone() for piece in torch.split(value, sizes, dim))

    def _joined(self, tensors: Sequence[Tensor], result: Tensor, dim: int = 0) -> None:
        places = [self._results[id(tensor)][0] for tensor in tensors if id(tensor) in self._results]
        if len(places) == len(tensors) > 1:
            self._note_rounds(places, dim % result.dim())
        sizes = [tensor.shape[dim] for tensor in tensors if tensor.dim() == result.dim()]
        if 1 < len(sizes) <= _MAX_PIECES:
            self._joints.append((tuple(result.shape), dim, sizes))

    def _note_rounds(self, places: list[int], dim: int) -> None:
        """Stack what was computed at the same place of each round, where ``places`` are those of one such result."""
        steps = {after - before for before, after in pairwise(places)}
        if len(steps) != 1 or not 0 < (length := steps.pop()) <= _LONGEST:
            return
        for offset in range(1 - length, length):
            if places[0] + offset < 0 or places[-1] + offset >= len(self._seen):
                continue
            rounds = [self._seen[place + offset] for place in places]
            if offset and all(tensor.shape == rounds[0].shape for tensor in rounds):
                self._derived.append(torch.stack(rounds, min(dim, rounds[0].dim())))
