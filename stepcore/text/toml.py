"""TOML with the reasons in plain words, and where each key stands, in broken texts, too."""

from __future__ import annotations

import re
import sys
import tomllib
from typing import Any, Final, NamedTuple

from stepcore.text.wording import clipped

# Possessive, and from the first character of a part on, so that each character is looked at a bounded number of times.
_PART: Final = r"""(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_MOST_PARTS: Final = 64
_DEEPEST: Final = 2 * _MOST_PARTS  # parts of a key with those of its header; inline tables may go on from there
_LONG_KEY: Final = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{_MOST_PARTS}}}+")
_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
# Part of the words of Python's parser -> ours.
_PLAIN: Final = {
    "Invalid value": "{} is no value; a text needs quotes",
    "Cannot overwrite a value": "this key is given twice",
    "Expected '=' after a key": "write KEY = VALUE",
    "Illegal character": "this text has no closing quote on its line",
}
_TOKEN: Final = re.compile(
    r'#[^\n]*+|"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)|\'\'\'(?:[^\']++|\'(?!\'\'))*+(?:\'\'\'|\Z)'
    r'|"(?:[^"\\\n]++|\\[^\n])*+"?|\'[^\'\n]*+\'?|[A-Za-z0-9_+-]++|[ \t\r]++|.',
    re.DOTALL,
)


class NoToml(ValueError):
    """A text that is no TOML, and why; ``line`` and ``column`` count from 1, and are 0 where nobody knows."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(reason)
        self.line = line
        self.column = column


class TomlKey(NamedTuple):
    """A key as it is written: its parts, those of its table first, and its line from 1. ``is_table``: a header."""

    path: tuple[str, ...]
    line: int
    is_table: bool


def parse_toml(text: str) -> dict[str, Any]:
    """Return a TOML text as data.

    Raises:
        NoToml: it is none, or its keys or tables are nested too deeply.
    """
    if line := long_key(text):
        raise NoToml("this key has too many parts", line)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _plain(text, str(error)) from error
    except ValueError as error:  # what Python counts in decimal digits has a limit of its own
        raise NoToml("this number has thousands of digits", _long_number(text)) from error
    except RecursionError:
        raise NoToml("its tables or lists are nested too deeply") from None


def long_key(text: str) -> int:
    """Return the first line, from 1, with a dotted key of more than 64 parts; 0 where there is none.

    Python's parser takes the square of their number to look at one.
    """
    found = _LONG_KEY.search(text)
    return 0 if found is None else text.count("\n", 0, found.start()) + 1


def _long_number(text: str) -> int:
    """Return the line, from 1, of the first number with more digits than Python reads; 0 where there is none."""
    most = sys.get_int_max_str_digits()
    for token in _TOKEN.finditer(text):
        if len(token[0]) > most and token[0].lstrip("+-").replace("_", "").isdecimal():
            return text.count("\n", 0, token.start()) + 1
    return 0


def toml_keys(text: str) -> list[TomlKey]:
    """Return all keys and headers of tables in order, those of a text that is no TOML as far as they can be told.

    Keys of more than 128 parts, which only nested inline tables make, are left out.
    """
    return _scanned(text).found


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """Return the line, from 1, on which each key or table first stands; a table without header begins with a key."""
    lines: dict[tuple[str, ...], int] = {}
    for key in toml_keys(text):
        for length in range(1, len(key.path) + 1):
            lines.setdefault(key.path[:length], key.line)
    return lines


def _scanned(text: str) -> _Scan:
    scan = _Scan()
    for match in _TOKEN.finditer(text):
        scan.take(match[0])
    return scan


def _plain(text: str, words: str) -> NoToml:
    place = _PLACE.search(words)
    line, column = (int(place[1]), int(place[2])) if place and place[1] else (0, 0)
    if place and not place[1]:
        line, column = text.count("\n") + 1, len(text) - text.rfind("\n")
    twice = _twice(text) if words.startswith("Cannot ") else ""
    written = _written(text, line, column)
    known = (ours.format(written or "this") for theirs, ours in _PLAIN.items() if theirs in words)
    return NoToml(twice or next(known, _PLACE.sub("", words)), line, column)


def _twice(text: str) -> str:
    """Return which key or table is given twice, and where first."""
    scan = _scanned(text)
    lines: dict[tuple[tuple[str, ...], bool], int] = {}
    for key in scan.found:
        if any(key.path[:length] in scan.lists for length in range(len(key.path) + 1)):
            continue
        before = lines.setdefault((key.path, key.is_table), key.line)
        if before != key.line:
            name = clipped(".".join(key.path), 60)
            shown = f"[{name}]" if key.is_table else name
            return f"{shown} is given twice, first on line {before}"
    return ""


def _written(text: str, line: int, column: int) -> str:
    """Return what stands at a place, up to what ends a value."""
    lines = text.split("\n")
    rest = lines[line - 1][column - 1 :] if 0 < line <= len(lines) else ""
    return clipped(re.split(r"[\s,\]}#]", rest)[0], 40)


class _Scan:
    """Reads tokens; ``inside`` holds for each open bracket the path of its inline table, None for a list.

    ``lists`` are the lists of tables: what they hold may be given again.
    """

    def __init__(self) -> None:
        self.found: list[TomlKey] = []
        self.lists: set[tuple[str, ...]] = set()
        self.line = 1
        self.mode = "key"
        self.table: tuple[str, ...] = ()
        self.path: tuple[str, ...] = ()
        self.parts: tuple[str, ...] = ()
        self.inside: list[tuple[str, ...] | None] = []

    def take(self, token: str) -> None:
        if token == "\n":
            self.line += 1
            if not self.inside:
                self.mode, self.parts = "key", ()
        elif token[0] not in "# \t\r":
            (self._value if self.mode == "value" else self._key)(token)
            self.line += token.count("\n")

    def _value(self, token: str) -> None:
        if token in ("[", "{"):
            self.inside.append(self.path if token == "{" else None)
            self.mode = "key" if token == "{" else "value"
            self.parts = ()
        elif token in ("]", "}") and self.inside:
            self.inside.pop()
        elif token == "," and self.inside and self.inside[-1] is not None:
            self.mode, self.parts = "key", ()

    def _key(self, token: str) -> None:
        if token == "[" and not self.parts and not self.inside:
            self.mode = "header" if self.mode == "key" else "list"
        elif token == "]" and self.mode != "key":
            self.table = self.parts
            if self.mode == "list":
                self.lists.add(self.table)
            self.found.append(TomlKey(self.table, self.line, is_table=True))
            self.mode = "value"
        elif token == "=" and self.mode == "key":
            around = next((path for path in reversed(self.inside) if path is not None), self.table)
            self.path = (*around, *self.parts)[: _DEEPEST + 1]
            if len(self.path) <= _DEEPEST:
                self.found.append(TomlKey(self.path, self.line, is_table=False))
            self.mode = "value"
        elif token == "}" and self.inside:
            self.inside.pop()
            self.mode = "value"
        elif token == ",":
            self.parts = ()
        elif token != "." and len(self.parts) < _MOST_PARTS:
            self.parts = (*self.parts, _part(token))


def _part(token: str) -> str:
    """Return a part of a key without its quotes."""
    if token[0] == '"' and "\\" in token:
        try:
            return str(tomllib.loads(f"part = {token}")["part"])
        except ValueError:  # no text that TOML knows
            return token
    return token.strip("\"'")
