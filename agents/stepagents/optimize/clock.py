"""The time of one search: how much of it is kept for the verification of what is found, and when all of it is over."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

_SHARE: Final = 0.25  # of the time, at most, that is kept for verification
_VERIFICATIONS: Final = 4  # as long as that of the program as it is, for which time is kept


class SearchClock:
    """Counts from when it is made. ``seconds`` are for search and verification together, None: without end.

    ``waited`` tells how long somebody was waited for who was asked what may be sent, which is no time of the search.
    """

    def __init__(
        self,
        seconds: float | None,
        waited: Callable[[], float] = lambda: 0.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._seconds, self._waited, self._clock = seconds, waited, clock
        self._began = clock()
        self._kept = 0.0

    @property
    def passed(self) -> float:
        """Seconds since it was made."""
        return self._clock() - self._began

    def keep_for_verification(self, once: float) -> None:
        """End the search so early that what it finds can be verified; ``once`` is how many seconds one text took."""
        if self._seconds is not None:
            self._kept = min(_VERIFICATIONS * once, _SHARE * self._seconds)

    def is_search_over(self) -> bool:
        """Whether the time of the search is over."""
        return self._is_after(self._kept)

    def is_late(self) -> bool:
        """Whether all time is over."""
        return self._is_after(0.0)

    def _is_after(self, kept: float) -> bool:
        return self._seconds is not None and self.passed - self._waited() > self._seconds - kept
