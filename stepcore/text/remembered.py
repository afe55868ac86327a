"""What functions of texts gave, remembered for as many characters as may be: a number of texts bounds no memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, NamedTuple, TypeVar

# A tree takes some fifty bytes for each character of its text, and what a cache holds is this at most twice.
CHARACTERS: Final = 2_000_000
_EACH: Final = 20  # characters that a result counts besides: a place with an empty text takes memory, too

Result = TypeVar("Result")


class CacheInfo(NamedTuple):
    """How much is remembered: results, and the characters that they count."""

    currsize: int
    characters: int


class Remembered(dict[Hashable, Result]):
    """A function of texts (and other hashable values) whose results are kept, the latest of them.

    There are two generations: what is asked for comes into the young one, and when that is full it becomes the old one.
    A result must not be None. May be called from several threads; a result may then be worked out twice.

    The young generation is the dictionary itself, by one argument or a tuple of several: what is known is found at the
    cost of a look into it.
    """

    def __init__(self, function: Callable[..., Result], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most
        self._lock = threading.Lock()
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self._old: dict[Hashable, Result] = {}
        self._characters = self._old_characters = 0

    def __call__(self, *arguments: Any) -> Result:
        """Return what the function gives, or gave."""
        is_plain = len(arguments) == 1 and not isinstance(arguments[0], tuple)
        return self[arguments[0] if is_plain else arguments]

    def __missing__(self, key: Hashable) -> Result:
        """Take over what is known since long, or work it out."""
        arguments = key if isinstance(key, tuple) else (key,)
        found = self._old.get(key)
        result = self._function(*arguments) if found is None else found
        size = _EACH + sum(len(each) for each in arguments if isinstance(each, str))
        with self._lock:
            if self._characters + size > self._most:
                self._old, self._old_characters = dict(self), self._characters
                self.clear()
                self._characters = 0
            self[key] = result
            self._characters += size
        return result

    def cache_clear(self) -> None:
        """Forget everything."""
        self.clear()
        self._old = {}
        self._characters = self._old_characters = 0

    def cache_info(self) -> CacheInfo:
        """Return how much is remembered."""
        return CacheInfo(len(self) + len(self._old), self._characters + self._old_characters)


class RememberedText(Remembered[Result]):
    """The same for functions of one text, each in a third of the time: an edit asks for all blocks of a file."""

    __call__ = dict.__getitem__


def remembered_text(function: Callable[[str], Result]) -> RememberedText[Result]:
    """Let a function of one text remember what it gave."""
    return RememberedText(function, CHARACTERS)


def remembered(function: Callable[..., Result]) -> Remembered[Result]:
    """Let a function of texts remember what it gave."""
    return Remembered(function, CHARACTERS)
