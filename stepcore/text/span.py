"""Source text and spans.

Every position in Stepsmith is an offset in code points into one :class:`SourceFile`. The other
countings (UTF-8 bytes of ``ast``, UTF-16 units of editors, lines and columns of people) are converted
here and nowhere else.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from operator import add
from typing import NamedTuple

# The line ends that Python's tokenizer knows. Form feeds and U+2028 do not end a line, although
# ``str.splitlines`` thinks so.
_LINE_END = re.compile(r"\r\n|\r|\n")


class Span(NamedTuple):  # a tuple, because checking makes one for every expression
    """A half-open range ``[start, end)`` of code points in one source file."""

    start: int
    end: int

    def cover(self, other: Span) -> Span:
        """Return the smallest span that holds both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class SourceFile:
    """A text with its path and a table of line starts (offsets in code points)."""

    path: str
    text: str
    line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if "\r" in self.text:
            starts = (0, *(match.end() for match in _LINE_END.finditer(self.text)))
        else:  # the same, five times as fast: there are many of these objects
            lengths = [*map(len, self.text.split("\n"))]
            starts = (0, *map(add, accumulate(lengths[:-1]), range(1, len(lengths))))
        object.__setattr__(self, "line_starts", starts)

    @cached_property
    def is_ascii(self) -> bool:
        """True when bytes, code points and UTF-16 units all count the same."""
        return self.text.isascii()

    def line_col(self, offset: int) -> tuple[int, int]:
        """Return the zero-based line and the column in code points of ``offset``."""
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.line_starts, offset) - 1
        return line, offset - self.line_starts[line]

    def utf16_position(self, offset: int) -> tuple[int, int]:
        """Return the zero-based line and the column in UTF-16 units of ``offset``."""
        line, column = self.line_col(offset)
        if self.is_ascii:
            return line, column
        start = self.line_starts[line]
        return line, utf16_length(self.text[start : start + column])

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a zero-based line and column (code points), clamped to the text."""
        if line >= len(self.line_starts):
            return len(self.text)
        return min(self.line_starts[line] + column, len(self.text))

    def offset_from_utf8(self, line: int, byte_column: int) -> int:
        """Return the offset of a zero-based line and a column in UTF-8 bytes, as ``ast`` counts."""
        if self.is_ascii:
            return self.offset(line, byte_column)
        if line >= len(self.line_starts):
            return len(self.text)
        start = self.line_starts[line]
        raw = self.line_text(line).encode("utf-8", "surrogatepass")[:byte_column]
        return start + len(raw.decode("utf-8", "ignore"))

    def line_text(self, line: int) -> str:
        """Return one line with its line end."""
        start = self.line_starts[line]
        is_last = line + 1 == len(self.line_starts)
        return self.text[start:] if is_last else self.text[start : self.line_starts[line + 1]]

    def slice(self, span: Span) -> str:
        """Return the text under ``span``."""
        return self.text[span.start : span.end]


def utf16_length(text: str) -> int:
    """Return the length of ``text`` in UTF-16 units (characters beyond U+FFFF count twice)."""
    return len(text) + sum(1 for character in text if character > "\uffff")


@dataclass(frozen=True)
class Embedded:
    """A text inside another file, such as the value of ``impl: |`` in a task file.

    ``text`` is what the inner parser sees. ``line_offsets[i]`` is the offset in the outer file at which line
    ``i`` of ``text`` starts. ``verbatim`` is False when the value was folded or escaped, so that
    only the whole scalar (``outer``) can be pointed at. ``indent`` is the text that each added line needs,
    ``line_end`` the outer file's line end where ``text`` lost it.
    """

    text: str
    line_offsets: tuple[int, ...]
    outer: Span
    verbatim: bool = True
    indent: str = ""
    line_end: str = ""

    @cached_property
    def inner(self) -> SourceFile:
        """The embedded text as a source file of its own (for line tables)."""
        return SourceFile("", self.text)

    @cached_property
    def direct(self) -> tuple[int, ...]:
        """The ``line_offsets`` by ``ast``'s numbers, from 1 on; none where columns in bytes have to be mapped."""
        return (0, *self.line_offsets) if self.verbatim and self.text.isascii() else ()

    @property
    def newline(self) -> str:
        """The line end that an added line needs."""
        return self.line_end or ("\r\n" if "\r\n" in self.text else "\n")

    def to_outer(self, offset: int) -> int:
        """Map an offset in ``text`` to an offset in the outer file."""
        if not self.verbatim:
            return self.outer.start
        line, column = self.inner.line_col(offset)
        if line >= len(self.line_offsets):
            return self.outer.end
        return min(self.line_offsets[line] + column, self.outer.end)

    def to_inner(self, offset: int) -> int | None:
        """Return the offset in ``text`` of a place in the outer file; None for its indentation and outside."""
        if not self.verbatim or not self.line_offsets or not self.line_offsets[0] <= offset <= self.outer.end:
            return None
        line = bisect_right(self.line_offsets, offset) - 1
        starts = self.inner.line_starts
        end = starts[line + 1] - 1 if line + 1 < len(starts) else len(self.text)
        inner = starts[line] + offset - self.line_offsets[line]
        return inner if inner <= end else None

    def span_to_outer(self, span: Span) -> Span:
        """Map a span in ``text`` to a span in the outer file."""
        if not self.verbatim:
            return self.outer
        return Span(self.to_outer(span.start), self.to_outer(span.end))

    @staticmethod
    def whole(text: str) -> Embedded:
        """A text that is its own outer file (plain Python files)."""
        source = SourceFile("", text)
        return Embedded(text, source.line_starts, Span(0, len(text)))
