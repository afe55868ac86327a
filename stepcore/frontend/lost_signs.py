"""Names that a line was meant to assign which does not parse: the ``=`` was lost, or something else stands for it.

They are kept as unknown, so that the one slip is one finding and not another one for each use of each name.
"""

from __future__ import annotations

import ast
import keyword
import re
from typing import Final, NamedTuple

LOST: Final = "a = is missing here"

_NAME: Final = r"[^\W\d]\w*"
_GAP: Final = r"[ \t]{0,9}"  # bounded: gaps follow gaps here, and a line may hold any number of spaces
_NAMES: Final = rf"{_NAME}(?:{_GAP},{_GAP}{_NAME}){{0,99}}{_GAP},?"
_CALL: Final = rf"(?={_NAME}(?:{_GAP}\.{_GAP}{_NAME}){{0,9}}{_GAP}\()"
_MEANT: Final = re.compile(
    rf"\s*[(\[]?{_GAP}(?P<names>{_NAMES}){_GAP}[)\]]?"
    rf"(?:{_GAP}=(?!=)|(?P<sign>{_GAP}(?::=|->|=>|<-|==|:|-)?){_GAP}{_CALL})"
)
_BETWEEN: Final = r"[^\w=.(\[]{1,9}"  # a lost comma, two of them, a stray sign
_UNSEPARATED: Final = re.compile(rf"\s*(?P<names>{_NAME}(?:{_BETWEEN}{_NAME}){{0,99}})(?:{_BETWEEN})?=(?!=)")
_WORD: Final = re.compile(_NAME)


class Meant(NamedTuple):
    """What a line was meant to assign. ``at`` is the column of a call before which the ``=`` was lost, -1 otherwise."""

    names: str
    at: int


def meant_targets(line: str) -> Meant | None:
    """Return the targets of a line (without its end) that does not parse; None where it assigns nothing.

    ``a, b step.Copy().apply(c)``, ``a, b := ...``, ``(a, b) = ...``, ``a b = ...`` and ``a?, b = ...`` mean ``a, b``.
    """
    found = _MEANT.match(line) or _UNSEPARATED.match(line)
    if found is None:
        return None
    names = _WORD.findall(found["names"])
    if any(map(keyword.iskeyword, names)):
        return None
    sign = found.groupdict().get("sign")
    is_lost = sign is not None and not sign.strip() and _is_whole(line[found.end() :])
    comma = "," if len(names) == 1 and "," in found["names"] else ""
    return Meant(", ".join(names) + comma, found.end() if is_lost else -1)


def _is_whole(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
