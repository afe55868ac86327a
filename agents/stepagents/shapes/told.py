"""What a text tells of one argument, and where it stands. No torch here."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from stepcore.records import Record

ANY: Final = "..."  # any number of dimensions
UNNAMED: Final = ""  # a size that varies and has no name


class TextPlace(Record):
    """Where something stands: what kind of text it is, its file, and its line, counted from 1."""

    kind: str
    path: str
    line: int

    def text(self, own: str) -> str:
        """Return it for a reader whose function is in the file ``own``."""
        file = "" if self.path == own else f"{Path(self.path).name} "
        return f"{self.kind}, {file}line {self.line}"


class Told(Record):
    """What is told of the argument ``name``.

    ``sizes`` are texts, outermost first: names, numbers, expressions, :data:`UNNAMED` or :data:`ANY`; None where the
    text tells at most the ``rank`` or the ``dtype``, or has a word for the ``likely_rank`` (a vector, a matrix).
    ``examples`` are sizes that were seen, None where one was not.
    Of a vector with one entry for each state ``per`` is ``state``; ``like`` is the argument whose shape is the same.
    A plain argument has ``is_plain`` and, where the text tells it, a ``value``.
    """

    name: str
    place: TextPlace
    sizes: tuple[str, ...] | None = None
    rank: int | None = None
    likely_rank: int | None = None
    dtype: str = ""
    per: str = ""
    like: str = ""
    examples: tuple[int | None, ...] = ()
    is_plain: bool = False
    value: object = None

    @property
    def told_rank(self) -> int | None:
        """The number of dimensions, where it is told."""
        if self.sizes is None:
            return self.rank
        return None if ANY in self.sizes else len(self.sizes)
