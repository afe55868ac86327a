"""When Python may look for cycles of objects that nobody reaches."""

from __future__ import annotations

import gc
from typing import Final

# Objects that checks may leave unsearched before the next one searches all objects: some 100 MB, were they all garbage.
_MOST_UNSEARCHED: Final = 1_000_000


def keep_out() -> None:
    """Keep all objects that there are out of all later searches (``gc.freeze``)."""
    gc.freeze()
    no_collection.keeps_out = True


class no_collection:
    """Pause the cyclic garbage collector: a check builds large trees that all live on, and scanning them again
    and again makes the time grow faster than the file. A class, because a generator would take 3 us longer.

    What a check leaves has practically no cycles, so it joins the old objects without being searched, where nobody
    keeps objects out of all searches (:func:`keep_out`), as workers do and the server, which also searches when it
    likes.
    """

    __slots__ = ("_was_enabled",)
    keeps_out = False
    _unsearched = 0

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        if self._was_enabled and no_collection._unsearched > _MOST_UNSEARCHED:
            # Before a check and not after one: by now nobody may hold what the last one made.
            no_collection._unsearched = 0
            gc.collect()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if not self._was_enabled:
            return
        made = gc.get_count()[0]
        if made > gc.get_threshold()[0] > 0 and not self._are_some_kept_out():
            no_collection._unsearched += made
            gc.freeze()  # both only put lists of objects together: the young ones are old afterwards
            gc.unfreeze()
        gc.enable()

    @staticmethod
    def _are_some_kept_out() -> bool:
        """Whether objects are kept out; asked until it is so, because Python counts them one by one (18 ms)."""
        if not no_collection.keeps_out:
            no_collection.keeps_out = gc.get_freeze_count() > 0
        return no_collection.keeps_out
