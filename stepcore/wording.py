"""Numbers and counts in messages, so that every message writes them alike."""

from __future__ import annotations

_READABLE_BITS = 64


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 stream``, ``2 streams``, ``10,000 streams``; ``plural`` is for nouns that take more than an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def whole(number: int) -> str:
    """Return an integer as text; one of more than 64 bits is only named, because nobody reads its digits."""
    if number.bit_length() <= _READABLE_BITS:
        return str(number)
    return "a number above 2**64" if number > 0 else "a number below -2**64"
