"""What Ray prints of its cluster goes to standard error: standard output is for results, which programs read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread
from typing import Any, TextIO, cast

_THREADS = "ray_"  # how Ray calls its threads in the process of a driver


class _WithoutRay:
    """A stream to which Ray's threads do not write; they have no setting for that."""

    def __init__(self, ours: TextIO) -> None:
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stderr if current_thread().name.startswith(_THREADS) else self._ours, name)


@contextmanager
def apart() -> Iterator[None]:
    """Keep what Ray prints off standard output."""
    before, ours = sys.stdout, cast("TextIO", _WithoutRay(sys.stdout))
    sys.stdout = ours
    try:
        yield
    finally:
        if sys.stdout is ours:
            sys.stdout = before
