"""Edits as a careless client sends them, and what they make of a text, worked out in a way of its own."""

from __future__ import annotations

import re
from random import Random
from typing import Any, Final

_LINE: Final = re.compile(r"\r\n|\r|\n")
# Line ends of all kinds, characters of every width, what ends no line in the protocol, a surrogate by itself.
PIECES: Final = (
    "\n", "\r\n", "\r", " ", "    ", "\t", "é", "語", "😀", "\u2028", "\x85", "\f", "\0", "\udc00", "\ufeff",
    "(", ")", "[", "]", "{", "}", "'", '"', '"""', ":", "=", ",", ".", "#", "@", "|", "- ", "\\",
    "E0", "E1", "step.", "step.Map(fn=double).apply(E0)", "step.Copy().apply(E1)", "return E1\n", "M", "import os\n",
    "    E9 = step.Promote(b=1).apply(E0)\n", "def f(x):\n    return x\n", "impl: |-\n", "fns:\n",
    "  dtype: fp32\n", "",
)  # fmt: skip


def units(text: str, encoding: str) -> int:
    """Return the length of a text as the protocol counts it; surrogates without their others count, too."""
    if encoding == "utf-16":
        return len(text) + sum(character > "\uffff" for character in text)
    return len(text) if encoding == "utf-32" else len(text.encode("utf-8", "surrogatepass"))


def lines_of(text: str) -> list[tuple[int, str]]:
    """Return start and text (without its end) of each line."""
    starts = [0, *(match.end() for match in _LINE.finditer(text))]
    ends = [*(match.start() for match in _LINE.finditer(text)), len(text)]
    return [(start, text[start:end]) for start, end in zip(starts, ends, strict=True)]


def place(rng: Random, text: str, encoding: str) -> tuple[int, dict[str, int]]:
    """Return an offset and a position that means it: behind the end of line or text, or within a character, too."""
    lines = lines_of(text)
    if rng.random() < 0.03:
        return len(text), {"line": len(lines) + rng.choice((0, 1, 1000, 2**31 - 1 - len(lines))), "character": 3}
    number = rng.randrange(len(lines))
    start, line = lines[number]
    column = rng.randint(0, len(line))
    character = units(line[:column], encoding)
    if column == len(line):
        character += rng.choice((0, 0, 7, 2**31 - 1 - character))
    elif units(line[column], encoding) > 1 and rng.random() < 0.5:
        character += 1  # within the character: it means the place before it
    return start + column, {"line": number, "character": character}


def change(rng: Random, text: str, encoding: str) -> tuple[str, dict[str, Any]]:
    """Return a text after a random change, and the change."""
    new = "".join(rng.choices(PIECES, k=rng.choice((0, 1, 1, 1, 2, 3))))
    if rng.random() < 0.01:
        return new, {"text": new}
    start, first = place(rng, text, encoding)
    end, last = place(rng, text, encoding)
    if abs(end - start) > 40 and rng.random() < 0.98:
        end, last = start, first
    if end < start and rng.random() < 0.5:
        (start, first), (end, last) = (end, last), (start, first)
    # A range that ends before it starts is an empty one at its start.
    return text[:start] + new + text[max(start, end) :], {"range": {"start": first, "end": last}, "text": new}


def within(text: str, area: dict[str, Any], encoding: str) -> bool:
    """Return whether a range that the server tells lies in a text."""
    lines = lines_of(text)
    points = [(area[name]["line"], area[name]["character"]) for name in ("start", "end")]
    inside = all(
        0 <= line < len(lines) and 0 <= character <= units(lines[line][1], encoding) for line, character in points
    )
    return inside and points[0] <= points[1]
