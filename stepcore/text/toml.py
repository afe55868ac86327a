"""What Python's TOML parser takes too long for: keys of thousands of parts, whose square it looks at."""

from __future__ import annotations

import re
from typing import Final

# Possessive, and from the first character of a part on, so that each character is looked at a bounded number of times.
_PART: Final = r"""(?:(?<![A-Za-z0-9_-])[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY: Final = re.compile(rf"{_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{64}}+")


def long_key(text: str) -> int:
    """Return the first line, from 1, with a dotted key of more than 64 parts; 0 where there is none."""
    found = _LONG_KEY.search(text)
    return 0 if found is None else text.count("\n", 0, found.start()) + 1
