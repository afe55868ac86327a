"""Numbers, counts and foreign names in messages, so that every message writes them alike."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, Final

_READABLE_BITS = 64
_SHOWN = 60  # characters of a foreign value
_NAME: Final[Any] = vars(type)["__name__"]  # a metaclass may have another one
_LONGEST = 100  # characters of a word in a message
_LONG_WORD = re.compile(rf"\w{{{_LONGEST + 1},}}")
_COLLECTIONS: tuple[tuple[type[Collection[object]], str], ...] = (
    (list, "a list"), (tuple, "a tuple"), (set, "a set"), (frozenset, "a set"), (dict, "a dictionary"),
)  # fmt: skip


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 stream``, ``2 streams``, ``10,000 streams``; ``plural`` is for nouns that take more than an s."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


_WORDS = ("no", "one", "two", "three", "four", "five", "six")


def few(number: int, noun: str) -> str:
    """Return ``one stream``, ``two streams``, ``7 streams``: what can be counted at a glance is counted in words."""
    word = _WORDS[number] if number < len(_WORDS) else f"{number:,}"
    return f"{word} {noun if number == 1 else noun + 's'}"


def whole(number: int) -> str:
    """Return an integer as text; one of more than 64 bits is only named, because nobody reads its digits."""
    if number.bit_length() <= _READABLE_BITS:
        return str(number)
    return "a number above 2**64" if number > 0 else "a number below -2**64"


def one_line(text: object) -> str:
    """Return a name, path or label of somebody else as it may be shown on a line of a terminal.

    What is not printable (line ends, escape sequences, marks that turn the direction of writing, bytes that are no
    text) is written as its escape, so that a name can neither forge a line nor steer the terminal. Reports for machines
    have the exact name instead.
    """
    found = str(text)
    if found.isprintable():
        return found
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in found)


def as_text(name: str) -> str:
    """Return a file's name for what holds text only (databases, JSON): bytes that are none are written as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def class_name(value: object) -> str:
    """Return the name of a value's class; what the class says of itself is not asked."""
    return one_line(clipped(str(_NAME.__get__(type(value))), _SHOWN))


def what_is(value: object) -> str:
    """Return what a value of Python is, for readers of messages: ``nothing``, ``the number 3``, ``the class Model``."""
    try:
        return _described(value)
    except BaseException:  # noqa: BLE001 - to look at a value may run code of its class, which raises whatever it likes
        return f"an object of {class_name(value)}"


def _described(value: object) -> str:
    named = one_line(clipped(str(getattr(value, "__name__", "")), _SHOWN))
    for kind, word in _COLLECTIONS:
        if isinstance(value, kind):
            return f"{word} of {len(value)}"
    match value:
        case None:
            return "nothing (None)"
        case bool():
            return f"the value {value}"
        case int():
            return f"the number {whole(value)}"
        case float() | complex():
            return f"the number {value}"
        case str():
            return f"the text {clipped(repr(value), _SHOWN)}"
        case type():
            return f"the class {named}"
        case _ if any(f"{base.__module__}.{base.__name__}" == "torch.Tensor" for base in type(value).__mro__):
            return "a tensor"
        case _ if callable(value) and named:
            return "a lambda" if named == "<lambda>" else f"the function {named}"
    text = repr(value)
    if len(text) <= _SHOWN and text.isprintable() and not text.startswith("<"):
        return text
    return f"an object of {class_name(value)}"


def clipped(text: str, length: int) -> str:
    """Return ``text`` with at most ``length`` characters: what is more is left out in the middle."""
    if len(text) <= length:
        return text
    half = (length - 3) // 2
    return f"{text[:half]} … {text[-half:]}"


def short_words(text: str) -> str:
    """Return ``text`` with each word of more than 100 characters as its beginning and its end: a name that somebody
    made so long would hide what is said of it.
    """
    return _LONG_WORD.sub(lambda word: clipped(word[0], _LONGEST), text) if len(text) > _LONGEST else text


def no_such_program(named: str, names: Iterable[str]) -> str:
    """Return what is told whoever asks for a program that a file does not have; ``names`` are those it has."""
    there = clipped(", ".join(map(one_line, names)), 400) or "none"
    return f"there is no program {clipped(one_line(named), 80)} in this file; there are {there}"


def anchor(title: str) -> str:
    """Return the anchor of a heading, as readers of Markdown make it: ``affine-rule`` of ``Affine rule``."""
    return "".join(sign for sign in title.lower().replace(" ", "-") if sign.isalnum() or sign in "-_")


def times_text(ratio: float) -> str:
    """Return how many times as much something is: ``2.31x``, ``1,827x``."""
    return f"{ratio:.3g}x" if ratio < 999.5 else f"{ratio:,.0f}x"  # 1e+03 is for machines
