"""Comments of a Python file by line. No torch here."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_LONGEST: Final = 1_000  # characters of one comment that are read
_SPACES: Final = re.compile(r"[^\S\n]{40,}")


@lru_cache(maxsize=2)  # documents and promises read them, and each run of a proposal
def comments_of(text: str) -> Mapping[int, str]:
    """Return the comments of a file by their lines, counted from 1, without their marks."""
    found: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = closed_up(token.string.lstrip("#: ")[:_LONGEST])
    except (tokenize.TokenError, SyntaxError):
        pass  # the text was parsed, so what was read up to here is right
    return found


def closed_up(text: str) -> str:
    """Return a text with runs of spaces that are not long: patterns take the cube of their length."""
    return _SPACES.sub(" " * 40, text)
