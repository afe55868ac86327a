"""Places of documents as the protocol writes them."""

from __future__ import annotations

from stepcore.records import Record


class PlainPosition(Record):
    """A position as the protocol writes it: zero-based, ``character`` counts UTF-16 units for our extension."""

    line: int
    character: int


class PlainRange(Record):
    """A range as the protocol writes it; the end is not included."""

    start: PlainPosition
    end: PlainPosition
