"""Whether tensors are what they were: a program that changes its data is found out, and judged on nothing else.

The language admits no operation that writes into inputs (``stepcore.fn.terms``). This looks at the data themselves, so
that a gap there rejects the program that found it instead of the ones after it. Version counters of torch would not
do: tensors of inference mode have none, and some kernels write without counting.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import torch
from torch import Tensor

# Up to here a copy is kept, which is compared within a microsecond; of more memory only the digest.
_COPIED: Final = 1 << 18  # bytes


class MemoryWatch:
    """Remembers the memory of tensors as it is now; views of one memory count once."""

    __slots__ = ("_copied", "_digested")

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._copied: list[tuple[Tensor, Tensor]] = []
        self._digested: list[tuple[Tensor, bytes]] = []
        seen: set[int] = set()
        with torch.inference_mode():
            for tensor in tensors:
                storage = tensor.untyped_storage()
                if storage.data_ptr() in seen or not storage.nbytes():
                    continue
                seen.add(storage.data_ptr())
                raw = torch.empty(0, dtype=torch.uint8).set_(storage)
                if is_small(tensor):
                    self._copied.append((raw, raw.clone()))
                else:
                    self._digested.append((raw, _digest(raw)))

    def intact(self) -> bool:
        """Return whether all of it holds the same bytes as then."""
        for now, before in self._copied:
            if not torch.equal(now, before):
                return False
        return all(_digest(now) == before for now, before in self._digested)

    def restore(self) -> None:
        """Put back what was copied; larger memory has to be drawn again by its owner."""
        with torch.inference_mode():
            for now, before in self._copied:
                now.copy_(before)


def is_small(tensor: Tensor) -> bool:
    """Return whether the memory of ``tensor`` is copied by a watch, which can then put it back."""
    return tensor.untyped_storage().nbytes() <= _COPIED


def _digest(raw: Tensor) -> bytes:
    return hashlib.blake2b(raw.numpy().data, digest_size=16).digest()
