"""No warnings of Python for a while."""

from __future__ import annotations

import warnings
from typing import Final

_NOTHING_TOLD: Final = ("ignore", None, Warning, None, 0)  # the filter of ``warnings.simplefilter("ignore")``


class unwarned:
    """Let Python and torch warn of nothing inside, whatever they would say.

    ``warnings.catch_warnings`` takes as long as a small operator, twice, and makes Python forget at each entry of what
    it has warned before. While everything is ignored nothing new is remembered, so nothing has to be forgotten.
    """

    __slots__ = ("_filters",)

    def __enter__(self) -> None:
        self._filters = warnings.filters
        warnings.filters = [_NOTHING_TOLD]

    def __exit__(self, *_: object) -> None:
        warnings.filters = self._filters
