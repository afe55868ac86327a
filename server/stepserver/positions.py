"""Positions of the protocol and offsets in code points, in the encoding that was negotiated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lsprotocol import types

if TYPE_CHECKING:
    from stepcore.text.span import SourceFile, Span

_WIDTHS: Final = {"utf-8": ((0x7F, 1), (0x7FF, 2), (0xFFFF, 3)), "utf-16": ((0xFFFF, 1),)}
_WIDEST: Final = {"utf-8": 4, "utf-16": 2}


@dataclass(frozen=True, slots=True)
class Codec:
    """Converts between code points and units of ``encoding``: "utf-8", "utf-16" or "utf-32"."""

    encoding: str = "utf-16"

    def units(self, text: str) -> int:
        """Return the length of ``text`` in units."""
        if self.encoding == "utf-32" or text.isascii():
            return len(text)
        return sum(self._width(character) for character in text)

    def place(self, source: SourceFile, offset: int) -> tuple[int, int]:
        """Return line and character of an offset; one within a line break is the end of its line."""
        line, column = source.line_col(offset)
        if column and source.text[offset : offset + 1] == "\n" and source.text[offset - 1] == "\r":
            column -= 1
        if not source.is_ascii and self.encoding != "utf-32":
            start = source.line_starts[line]
            column = self.units(source.text[start : start + column])
        return line, column

    def position(self, source: SourceFile, offset: int) -> types.Position:
        """Return the position of an offset."""
        return types.Position(*self.place(source, offset))

    def range(self, source: SourceFile, span: Span) -> types.Range:
        """Return the range of a span."""
        return types.Range(self.position(source, span.start), self.position(source, span.end))

    def offset(self, source: SourceFile, position: types.Position) -> int:
        """Return the offset of a position.

        One behind the end of its line stands for that end, one behind the text for the end of the text, and one
        inside of a character for the place before it.
        """
        line, units = position.line, position.character
        if line >= len(source.line_starts):
            return len(source.text)
        start = source.line_starts[line]
        text = source.line_text(line).rstrip("\r\n")
        if self.encoding == "utf-32" or source.is_ascii or text.isascii():
            return start + min(units, len(text))
        column = 0
        for character in text:
            units -= self._width(character)
            if units < 0:
                break
            column += 1
        return start + column

    def _width(self, character: str) -> int:
        point = ord(character)
        for last, width in _WIDTHS.get(self.encoding, ()):
            if point <= last:
                return width
        return _WIDEST.get(self.encoding, 1)
