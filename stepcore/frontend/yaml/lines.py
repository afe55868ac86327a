"""The lines of a task file without a parser: where they begin, and which of them are the text of a literal block."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_MARGIN: Final = re.compile(r"[ \t]*")
_LITERAL: Final = re.compile(r"(?:^|[:\s-])[|>][+-]?[ \t]*(?:#.*)?$")
_ITEM: Final = re.compile(r"-(?:[ \t]|$)")
_KEY: Final = re.compile(r"(?:- +)*(?=\w+:?)")


class Line(NamedTuple):
    """A line that is not blank. ``width`` is its indentation, a tab counting as one space."""

    start: int
    width: int
    is_item: bool
    is_text: bool


def lines_of(text: str) -> list[Line]:
    """Return the lines of ``text`` that are not blank."""
    lines: list[Line] = []
    start, depth = 0, -1  # the column that the text of a literal block is indented by more than; -1 outside of one
    for line in text.split("\n"):
        bare = line.strip()
        if bare:
            width = _MARGIN.match(line).end()  # type: ignore[union-attr]  # it matches nothing, too
            is_text = depth >= 0 and width > depth
            if not is_text:
                key = _KEY.match(bare)
                depth = width + (0 if key is None else key.end()) if _LITERAL.search(bare) else -1
            lines.append(Line(start, width, not is_text and _ITEM.match(bare) is not None, is_text))
        start += len(line) + 1
    return lines
