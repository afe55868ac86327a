"""Task files with slips of one mark: what is meant is found by trying, so that one slip is one finding.

YAML notices a slip where it cannot go on, which may be far away, or takes the text for something else. So where a file
does not read as a task, each of its sections is looked at by itself, and each item of its lists: of the slips that its
lines may have (:mod:`stepcore.frontend.yaml.marks`) the first counts whose mending lets the item be read without a
finding. What is tried is counted in characters, and ends with :data:`MOST`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from stepcore.findings.diagnostics import Diagnostic
from stepcore.findings.near import nearest
from stepcore.frontend.yaml.lines import Line, lines_of
from stepcore.frontend.yaml.marks import moved_line, no_colon, no_space, of_line, second_colon
from stepcore.frontend.yaml.shifts import Shifts
from stepcore.text.span import Span

MOST: Final = 1_500_000  # characters that are read on trial: a slip in a file of usual length takes 50,000
MOST_SLIPS: Final = 8
_LONGEST_SECTION: Final = 1 << 16
_LONGEST_ITEM: Final = 4_000
_TOLERATED: Final = 1  # findings that an item which could not be read may have besides its slip
_HEAD: Final = re.compile(r"^([ \t]*)(\w+)([^\n]*)", re.MULTILINE)
_VALUE: Final = tuple(" \t[{|\"'")  # what may follow a key whose colon is missing

Score = Callable[[str, bool], "int | None"]
"""How many findings a section has by itself, given its text and whether it is on trial; None where it is none."""


class _Item(NamedTuple):
    """A part of a section that is read by itself: ``text`` is the section's head and the item, from ``first`` on."""

    text: str
    first: int
    shift: int  # from offsets of ``text`` to those of the file


class Slips:
    """Finds the slips of texts. ``top`` are the keys of a file, ``inner`` those of items; ``score`` judges sections."""

    def __init__(self, top: tuple[str, ...], inner: tuple[str, ...], score: Score) -> None:
        self._top = top
        self._keys = frozenset((*top, *inner))
        self._score = score
        self._left = MOST

    def of(self, text: str) -> list[Diagnostic]:
        """Return the slips that are found, at most :data:`MOST_SLIPS`, in the order of the text."""
        found = list(self._heads(text))[:MOST_SLIPS]
        shifts = Shifts(edit for item in found if item.fix for edit in item.fix.edits)
        mended = shifts.applied(text)
        for start, end in self._sections(mended):
            for item in self._items(mended, start, end):
                if len(found) < MOST_SLIPS and (best := self._best(item)) is not None:
                    found.append(shifts.finding(Shifts.moved(best, item.shift)))
        return sorted(found, key=lambda each: each.span)

    def _heads(self, text: str) -> Iterator[Diagnostic]:
        """Yield the slips of lines that shall begin a section."""
        matches = list(_HEAD.finditer(text))
        given = {match[2] for match in matches if not match[1] and match[3][:1] == ":"}
        for match in matches:
            margin, word, rest = match.groups()
            key, behind = Span(match.start(2), match.end(2)), rest[1:2].strip()
            if not margin and rest[:1] != ":":
                if self._begins(word, rest):
                    yield no_colon(key, word)
            elif word not in self._top or rest[:1] != ":":
                continue
            elif margin:
                if not behind and word not in given:
                    yield moved_line(match.start(), margin, 0, key.end + 1)
            elif behind == ":":
                yield second_colon(key, word)
            elif behind:
                yield no_space(key, word)

    def _begins(self, word: str, rest: str) -> bool:
        """Whether a line at the left margin without a colon begins a section: by its word, or one that is near."""
        if word in self._top:
            return not rest.strip() or rest.startswith(_VALUE)
        return not rest.strip() and bool(nearest(word, self._top, closed=True))

    def _sections(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the ranges of the sections of ``text``."""
        starts = [match.start() for match in _HEAD.finditer(text)
                  if not match[1] and match[2] in self._top and match[3][:1] == ":"]  # fmt: skip
        yield from pairwise((*starts, len(text)))

    def _items(self, text: str, start: int, end: int) -> Iterator[_Item]:
        """Yield the parts of a section that is not read without a finding; a list is split at its dashes."""
        section = text[start:end]
        if end - start > _LONGEST_SECTION or self._tried(section, is_trial=False) == 0:
            return
        lines = lines_of(section)
        dashes = [line for line in lines[1:] if line.is_item]
        column = min((line.width for line in dashes), default=0)
        starts = [line.start for line in dashes if line.width == column]
        if len(lines) < 2 or not (starts or section[: lines[1].start].rstrip().endswith(":")):
            yield _Item(section, 0, start)
            return
        first = lines[1].start
        starts = starts or [first]
        starts[0] = first  # what stands before the first dash belongs to the first item
        for a, b in pairwise((*starts, len(section))):
            yield _Item(section[:first] + section[a:b], first, start + a - first)

    def _best(self, item: _Item) -> Diagnostic | None:
        """Return the slip whose mending lets an item be read; None where it has none, or none that is clear."""
        if len(item.text) > _LONGEST_ITEM:
            return None
        before = self._tried(item.text, is_trial=False)
        if before == 0:
            return None
        most = _TOLERATED if before is None else min(before - 1, _TOLERATED)
        best: Diagnostic | None = None
        for found in self._possible(item, is_read=before is not None):
            count = self._tried(Shifts(found.fix.edits if found.fix else ()).applied(item.text))
            if count == 0:
                return found
            if count is not None and count <= most:
                best, most = found, count - 1
        return best

    def _possible(self, item: _Item, *, is_read: bool) -> Iterator[Diagnostic]:
        lines = [line for line in lines_of(item.text) if not line.is_text]
        own = [line for line in lines if line.start >= item.first]
        dash = min((line.width for line in own if line.is_item), default=0)
        for line in own:
            columns, column = _beside(line, lines, dash), dash if item.first else -1
            yield from of_line(item.text, line.start, self._keys, columns, column, is_read=is_read)

    def _tried(self, text: str, *, is_trial: bool = True) -> int | None:
        """Return the score of a section's text; None where too much was tried."""
        self._left -= len(text)
        return self._score(text, is_trial) if self._left > 0 else None


def _beside(line: Line, lines: list[Line], dash: int) -> list[int]:
    """Return the columns in which a line may begin, the nearest to its own first."""
    columns = {dash, dash + 2, *(other.width for other in lines)} - {line.width}
    return sorted(columns, key=lambda width: (abs(width - line.width), width))
