"""Text of documents as Markdown that shows it and does nothing else.

Editors load the pictures of a hover and follow its links, of files too that nobody trusts. So what a document says is
put into blocks and spans of code that it cannot end, or stands there as words without links, pictures and tags.
"""

from __future__ import annotations

import re
from typing import Final

from stepcore.text.wording import one_line

_RUN: Final = re.compile(r"`+")
# A span of code within one line, or a sign that may begin a link, a picture, a tag, or a span that ends elsewhere.
_SPAN_OR_SIGN: Final = re.compile(r"(?P<ticks>`+)(?P<inner>[^`]+)(?P=ticks)(?!`)|[\\\[\]<`]")
# What a table, whose cells end within spans of code too, could take out of one.
_LEAVES_ITS_SPAN: Final = ("|", "<", "](", "][", "\\")
_ESCAPED: Final = re.compile(r"\\([\\\[\]<`])")
_FENCED: Final = re.compile(r"^(`{3,})\w*\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)
_MARKS: Final = re.compile(r"(?<!\\)[`*]")


def code(text: str) -> str:
    """Return ``text`` as a block of Python."""
    fence = "`" * _more_than_any(text, 3)
    return f"{fence}python\n{text}\n{fence}"


def inline(text: str) -> str:
    """Return ``text`` as code within a line."""
    shown = one_line(text)
    ticks = "`" * _more_than_any(shown, 1)
    room = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{ticks}{room}{shown}{room}{ticks}"


def words(text: str) -> str:
    """Return what an author wrote for people: spans of code stay, links, pictures and tags are shown as written."""
    return "\n".join(_SPAN_OR_SIGN.sub(_harmless, line) for line in text.splitlines())


def unmarked_words(text: str) -> str:
    """Return Markdown without its marks, for a client that would show them; blocks of code stay as they are."""
    found, at = [], 0
    for block in _FENCED.finditer(text):
        found += [_without_marks(text[at : block.start()]), block[2]]
        at = block.end()
    return "".join([*found, _without_marks(text[at:])])


def _without_marks(text: str) -> str:
    return _ESCAPED.sub(r"\1", _MARKS.sub("", text))


def _more_than_any(text: str, least: int) -> int:
    """Return how many backticks no row of them in a text has."""
    return max([least, *(len(run) + 1 for run in _RUN.findall(text))])


def _harmless(match: re.Match[str]) -> str:
    inner = match["inner"]
    if inner is not None and not any(sign in inner for sign in _LEAVES_ITS_SPAN):
        return match[0]
    return "".join("\\" + letter if letter in "\\[]<`" else letter for letter in match[0])
