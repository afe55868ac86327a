"""Points of the space of lanes: tiles of a cache, how many lanes, and how requests are dealt to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from stepcore.records import Record

Dealing: TypeAlias = Literal["coarse", "interleaved", "dynamic", "longest"]
FREE: Final[frozenset[Dealing]] = frozenset({"dynamic", "longest"})  # a lane is chosen when it has room
_WORDS: Final[Mapping[Dealing, str]] = {
    "coarse": "each with a block of requests", "interleaved": "requests in turn",
    "dynamic": "each takes the next request when it is free",
    "longest": "each takes the longest request that is left when it is free",
}  # fmt: skip


class LanePoint(Record):
    """One point of the space: rows of a tile of a cache, lanes, how requests are dealt to them.

    ``dispatch`` are the bursts per cycle of each port, None where the chip's do; ``parts`` those of each request.
    """

    rows: int
    lanes: int
    dealing: Dealing
    dispatch: int | None = None
    parts: int = 1

    @property
    def text(self) -> str:
        """The schedule in a line for people."""
        lanes = f"{self.lanes} lanes, {_WORDS[self.dealing]}" if self.lanes > 1 else "1 lane"
        cut = f"; requests in {self.parts} parts" if self.parts > 1 else ""
        return f"attention over filled rows: tiles TR={self.rows}; {lanes}{cut}"
