"""When Python may look for cycles of objects that nobody reaches."""

from __future__ import annotations

import gc
from typing import Final

# Objects that checks may leave unsearched before the next one searches all objects: some 100 MB, were they all garbage.
_UNSEARCHED: Final = 1_000_000
# The same where the last search found less garbage than this part of them: then it cost a second or two for nothing.
_WORTH_IT: Final = 0.1
_UNSEARCHED_AFTER_NOTHING: Final = 8 * _UNSEARCHED


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
    _bound = _UNSEARCHED

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        if self._was_enabled and no_collection._unsearched > no_collection._bound:
            # Before a check and not after one: by now nobody may hold what the last one made.
            self._search()
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
    def _search() -> None:
        """Look for garbage among all objects; it takes a second where long texts are held and mostly finds none."""
        is_worth_it = gc.collect() > _WORTH_IT * no_collection._unsearched
        no_collection._bound = _UNSEARCHED if is_worth_it else _UNSEARCHED_AFTER_NOTHING
        no_collection._unsearched = 0

    @staticmethod
    def _are_some_kept_out() -> bool:
        """Whether objects are kept out; asked until it is so, because Python counts them one by one (18 ms)."""
        if not no_collection.keeps_out:
            no_collection.keeps_out = gc.get_freeze_count() > 0
        return no_collection.keeps_out
