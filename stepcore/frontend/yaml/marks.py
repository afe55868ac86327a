"""The slips of one mark that a line of a task file may have: each with what it says and the edit that mends it.

A slip is a mark too few, too many or wrong (a colon, a comma, a quote, a bracket, a dash, a tab), or a line that begins
in the wrong column. Nothing here knows which of them a line has: :mod:`stepcore.frontend.yaml.slips` tries them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.text.span import Span

LONGEST_LINE: Final = 300  # characters of a line whose marks are looked at
_TOKEN: Final = re.compile(r"[\w.*+/?@-]+|\S")
_WORD: Final = re.compile(r"\w+")
_MARGIN: Final = re.compile(r"[ \t]*")
_TABS: Final = re.compile(r"[ ]*\t[ \t]*")
_NAMES: Final = {
    "[": "an opening bracket [", "]": "a closing bracket ]", "{": "an opening brace {", "}": "a closing brace }",
    "(": "an opening parenthesis (", ")": "a closing parenthesis )", '"': 'a quote "', "'": "a quote '", ",": "a comma",
}  # fmt: skip
_AFTER: Final = {"-": "after this dash", ":": "after this colon"}
_OPENING: Final = frozenset("\"'[{(")
_BEHIND: Final = frozenset(",]})")  # before these nothing opens
_CLOSING: Final = frozenset("\"']})")
_KINDS: Final = ("([{", ")]}")


def slip(span: Span, message: str, title: str, *edits: Edit) -> Diagnostic:
    """Return the finding of a slip."""
    return Diagnostic("STEP903", span, message, fix=Fix(title, edits))


def no_colon(key: Span, word: str) -> Diagnostic:
    """The key under ``key`` has no colon."""
    return slip(key, f"a key needs a colon after it: {word}:", "Insert the colon", _inserted(key.end, ":"))


def no_space(key: Span, word: str) -> Diagnostic:
    """No space follows the colon behind the key under ``key``."""
    after = key.end + 1
    message = f"a colon needs a space after it: {word}: and the value"
    return slip(Span(key.start, after), message, "Insert a space", _inserted(after, " "))


def second_colon(key: Span, word: str) -> Diagnostic:
    """Two colons stand behind the key under ``key``."""
    second = Span(key.end + 1, key.end + 2)
    return slip(second, f"one colon stands behind a key: {word}:", "Remove the second colon", Edit(second, ""))


def moved_line(start: int, margin: str, width: int, end: int) -> Diagnostic:
    """The line from ``start`` to ``end`` begins behind ``margin`` and not in column ``width``."""
    old = Span(start, start + len(margin))
    place = "at the left margin" if width == 0 else f"in column {width + 1}, as what stands beside it"
    if "\t" in margin:
        message = f"a tab cannot indent YAML; use spaces: this line begins {place}"
        return slip(old, message, "Replace the tab with spaces", Edit(old, " " * width))
    title = "Move to the left margin" if width == 0 else f"Indent by {width} space{'s' if width > 1 else ''}"
    return slip(Span(old.end, end), f"this line has to begin {place}", title, Edit(old, " " * width))


def of_line(
    text: str, start: int, keys: Collection[str], columns: Collection[int], dash: int, *, is_read: bool
) -> Iterator[Diagnostic]:
    """Yield the slips that the line at ``start`` may have, those that are likely first.

    Args:
        text: the whole text.
        start: where the line begins.
        keys: the words that may be keys here.
        columns: where lines may begin beside it.
        dash: the column in which items of this list begin; -1 where there is no list.
        is_read: the text is YAML as it is: then no comma is wrong.
    """
    end = text.find("\n", start)
    line = text[start : len(text) if end < 0 else end].rstrip("\r")
    if not line.strip() or len(line) > LONGEST_LINE:
        return
    margin = _MARGIN.match(line)[0]  # type: ignore[index]  # it matches nothing, too
    yield from _of_tabs(line, start, len(margin))
    yield from _of_keys(line, start, keys)
    yield from _of_dashes(line, start, margin, dash)
    for width in columns:
        if " " * width != margin:
            yield moved_line(start, margin, width, start + len(line.rstrip()))
    yield from _of_marks(line, start, len(margin), with_commas=not is_read)


def _inserted(at: int, mark: str) -> Edit:
    return Edit(Span(at, at), mark)


def _of_tabs(line: str, start: int, margin: int) -> Iterator[Diagnostic]:
    for found in _TABS.finditer(line, margin):
        is_last = found.end() == len(line)
        where, title = (
            ("at the end of this line", "Remove the tab") if is_last else ("here", "Replace the tab with a space")
        )
        span = Span(start + found.start(), start + found.end())
        way_out = "remove it" if is_last else "use a space"
        yield slip(span, f"a tab cannot stand {where} in YAML; {way_out}", title, Edit(span, "" if is_last else " "))


def _of_keys(line: str, start: int, keys: Collection[str]) -> Iterator[Diagnostic]:
    for found in _WORD.finditer(line):
        if found[0] not in keys:
            continue
        span, after = Span(start + found.start(), start + found.end()), line[found.end() : found.end() + 2]
        if line[found.end() :].rstrip() == ": -":
            dash = start + len(line.rstrip()) - 1
            yield slip(Span(dash, dash + 1), "a block of text begins after |- or |", "Insert |", _inserted(dash, "|"))
        elif after[:1] != ":":
            yield no_colon(span, found[0])
        elif after not in (": ", ":", "::"):
            yield no_space(span, found[0])
        elif after == "::":
            yield second_colon(span, found[0])


def _of_dashes(line: str, start: int, margin: str, column: int) -> Iterator[Diagnostic]:
    at = start + len(margin)
    rest = line[len(margin) :]
    whole = Span(at, start + len(line.rstrip()))
    if rest[:1] == "-" and rest[:2] != "- ":
        yield slip(Span(at, at + 1), "a dash needs a space after it", "Insert a space", _inserted(at + 1, " "))
    if rest[:2] == "- ":
        span = Span(at, at + 2)
        yield slip(Span(at, at + 1), "this dash begins an item too many", "Remove the dash", Edit(span, ""))
    elif column >= 0:
        for width in dict.fromkeys((column, column + 2, len(margin))):
            new = Edit(Span(start, at), " " * width + "- ")
            yield slip(whole, "an item of a list begins with a dash", "Insert the dash", new)


def _of_marks(line: str, start: int, margin: int, *, with_commas: bool) -> Iterator[Diagnostic]:
    """Quotes, brackets and commas: one too few, one too many, one of another kind.

    Of brackets and quotes only those are missing or too many whose partners are not of the same number.
    """
    missing, spare = _unpaired(line)
    tokens = [(found.start(), found.end()) for found in _TOKEN.finditer(line, margin)]
    for first, _ in tokens:
        if with_commas and line[first - 1 : first] == " " and first > margin:
            yield _missing(start + first, ",", start + len(line[:first].rstrip()))
        for mark in missing & _OPENING if line[first] not in _BEHIND else ():
            yield _missing(start + first, mark, start + first)
    for _, last in reversed(tokens):
        for mark in missing & _CLOSING:
            yield _missing(start + last - 1, mark, start + last)
    for first, last in tokens:
        word = line[first:last]
        is_double = with_commas and word == "," and line[last:].lstrip(" ").startswith(",")
        if word not in spare and not is_double:
            continue
        span = Span(start + first, start + last)
        yield slip(span, f"{_NAMES[word]} too many", f"Remove {word}", Edit(span, ""))
        for other in sorted(missing):
            if other != word and any(word in kind and other in kind for kind in _KINDS):
                yield slip(
                    span, f"{_NAMES[other]} has to stand here, not {word}", f"Change to {other}", Edit(span, other)
                )


def _unpaired(line: str) -> tuple[set[str], set[str]]:
    """Return the marks of which a line has too few, and those of which it has too many."""
    missing = {quote for quote in "\"'" if line.count(quote) % 2}
    spare = set(missing)
    for opening, closing in zip(*_KINDS, strict=True):
        more = line.count(opening) - line.count(closing)
        if more:
            missing.add(closing if more > 0 else opening)
            spare.add(opening if more > 0 else closing)
    return missing, spare


def _missing(place: int, mark: str, at: int) -> Diagnostic:
    return slip(Span(place, place + 1), f"{_NAMES[mark]} is missing here", f"Insert {mark}", _inserted(at, mark))
