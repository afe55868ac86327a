"""The names nearest to a misspelt one: the only place that compares them, and within the document's budget.

A comparison takes time that grows with the square of the names' length, and a file may misspell as many names as it
has lines, each to be compared with all that it defines: so only names of usual length are compared, only those that
can be near enough, and only so many in one document; to look through many names for those counts, too. Findings
beyond that come without a suggestion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from typing import Final

from stepcore.findings import budget

LONGEST: Final = 64  # characters of a name that is compared
_DIGITS: Final = "0123456789"
_PASSED: Final = 64  # names whose length is looked at take as long as one that is compared
_SHORTEST: Final = 3  # names that are shorter are alike by chance: only their case is compared


def nearest(word: str, known: Iterable[str], n: int = 1, cutoff: float = 0.6, *, closed: bool = False) -> list[str]:
    """Return at most ``n`` of ``known`` that are like ``word``, the nearest first; the same but for case wins.

    What is found does not depend on the order of ``known``.
    ``cutoff`` is the similarity (from 0 to 1) from which on a name counts, as :func:`difflib.get_close_matches` has it.
    Free names that differ in their numbers alone, or have one or two letters, mean different things and are not near;
    ``closed`` says that ``known`` is a closed vocabulary (keys, codes), where that is a slip, too.
    """
    length = len(word)
    own = budget.current()
    if not 0 < length <= LONGEST or (own is not None and own.looks <= 0):
        return []
    # Twice the shorter length by the sum of both is the most that the similarity can be.
    known = known if isinstance(known, Sized) else tuple(known)
    shortest, longest = length * cutoff / (2 - cutoff), min(length * (2 - cutoff) / cutoff, LONGEST)
    possible = [name for name in known if shortest <= len(name) <= longest]
    if own is not None:
        own.looks -= len(possible) + len(known) // _PASSED
        if own.looks < 0:
            return []
    lowered = word.lower()
    alike = [name for name in possible if name.lower() == lowered and name != word]
    alike = alike or [name for name in possible if len(name) == length - 1 and _doubled(word, name)]
    if alike:
        return sorted(alike)[:n]
    if not closed:
        possible = [name for name in possible if len(name) >= _SHORTEST] if length >= _SHORTEST else []
        stem = word.rstrip(_DIGITS)
        if stem != word:  # who numbers names, as E0 and E12, means different things
            possible = [name for name in possible if name.rstrip(_DIGITS) != stem]
    if not possible:
        return []
    from difflib import get_close_matches  # most texts need none, and the start of a server must not wait for it

    return get_close_matches(word, possible, n, cutoff)


def _doubled(word: str, name: str) -> bool:
    """Whether ``word``, one longer, is ``name`` with a key pressed twice, which says what is meant at any length."""
    at = next((place for place, (one, other) in enumerate(zip(word, name, strict=False)) if one != other), len(name))
    return at > 0 and word[at] == word[at - 1] and word[:at] + word[at + 1 :] == name
