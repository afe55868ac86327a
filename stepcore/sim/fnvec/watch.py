"""Whether tensors are what they were: a program that changes its data is found out, and judged on nothing else.

The language admits no operation that writes into inputs (``stepcore.fn.terms``). This looks at the data themselves, so
that a gap there rejects the program that found it instead of the ones after it. Version counters of torch would not
do: tensors of inference mode have none, and some kernels write without counting.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Set
from typing import Final

import torch
from torch import Tensor

# Up to here a copy is kept, which is compared within a few microseconds; of more memory only the digest.
_COPIED: Final = 1 << 18  # bytes


class MemoryWatch:
    """Remembers the memory of tensors as it is now; views of one memory count once.

    Of a large one all of it is remembered, also what no tensor shows. ``watched`` are the addresses of memory that
    another watch holds as a whole: of that, if it is large, only the stretch from the first to the last number that
    ``tensors`` show.
    """

    __slots__ = ("_copied", "_digested")

    def __init__(self, tensors: Iterable[Tensor], watched: Set[int] = frozenset()) -> None:
        self._copied: list[tuple[Tensor, Callable[[], bytes], bytes]] = []
        self._digested: list[tuple[Tensor, bytes]] = []
        seen: set[int] = set()
        parts: dict[int, list[Tensor]] = {}
        with torch.inference_mode():
            for tensor in tensors:
                storage = tensor.untyped_storage()
                address = storage.data_ptr()
                if address in watched and not is_small(tensor):
                    parts.setdefault(address, []).append(tensor)
                    continue
                if address in seen or not storage.nbytes():
                    continue
                seen.add(address)
                raw = _bytes(tensor)
                if is_small(tensor):
                    # As bytes they are compared at once; `torch.equal` takes them one by one, ten times as long from
                    # 20 kB on. An array on the memory, made once, keeps it from being resized.
                    content = raw.numpy().tobytes
                    self._copied.append((raw, content, content()))
                else:
                    self._digested.append((raw, _digest(raw)))
            for views in parts.values():
                raw = _stretch(views)
                self._digested.append((raw, _digest(raw)))

    def intact(self) -> bool:
        """Return whether all of it holds the same bytes as then."""
        for _, content, before in self._copied:
            if content() != before:
                return False
        return not self._digested or all(_digest(now) == before for now, before in self._digested)

    def restore(self) -> None:
        """Put back what was copied; larger memory has to be drawn again by its owner."""
        with torch.inference_mode():
            for now, _, before in self._copied:
                now.copy_(torch.frombuffer(bytearray(before), dtype=torch.uint8))


def is_small(tensor: Tensor) -> bool:
    """Return whether the memory of ``tensor`` is copied by a watch, which can then put it back."""
    return tensor.untyped_storage().nbytes() <= _COPIED


def _bytes(tensor: Tensor) -> Tensor:
    """Return all memory behind ``tensor``."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())


def _stretch(views: list[Tensor]) -> Tensor:
    """Return the bytes of one memory from the first to the last that ``views`` show; strides are never negative."""
    ends = [_ends(view) for view in views if view.numel()]
    start, stop = min((first for first, _ in ends), default=0), max((last for _, last in ends), default=0)
    return _bytes(views[0])[start:stop]


def _ends(view: Tensor) -> tuple[int, int]:
    start, width = int(view.storage_offset()), view.element_size()
    last = start + sum((size - 1) * stride for size, stride in zip(view.shape, view.stride(), strict=True))
    return start * width, (last + 1) * width


def _digest(raw: Tensor) -> bytes:
    # Processors have instructions for this one.
    return hashlib.sha256(raw.numpy().data).digest()
