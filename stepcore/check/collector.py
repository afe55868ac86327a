"""When Python may look for cycles of objects that nobody reaches."""

from __future__ import annotations

import gc


class no_collection:
    """Pause the cyclic garbage collector: a check builds large trees that all live on, and scanning them again
    and again makes the time grow faster than the file. A class, because a generator would take 3 us longer.
    """

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self._was_enabled:
            gc.enable()
