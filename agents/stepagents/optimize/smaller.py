"""The least change to a text: lines that a search changed on its way to a program and that bring nothing, as they were.

A search goes on from the text that it has, so the best one may hold what an earlier step wrote and a later one made
useless: types of a function that nothing uses any more, the stride of a loop of one round, a way there and back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Final

_MOST: Final = 24  # texts that are tried, each of which is timed


def least_change(before: str, after: str, is_as_good: Callable[[str], bool]) -> str:
    """Return ``after`` with each group of its changed lines as ``before`` has them where the text ``is_as_good``.

    The last group is tried first; of one that cannot be taken back as a whole and has as many lines as before, each
    line is tried by itself.
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    tried: set[str] = set()
    progress = True
    while progress:
        progress = False
        for text in _taken_back(old, new):
            if text in tried:
                continue
            if len(tried) == _MOST:
                return "".join(new)
            tried.add(text)
            if is_as_good(text):
                new, progress = text.splitlines(keepends=True), True
                break
    return "".join(new)


def _taken_back(old: list[str], new: list[str]) -> Iterator[str]:
    """Yield the new text with one group of lines, or one line, as it was."""
    groups = [each for each in SequenceMatcher(None, old, new, autojunk=False).get_opcodes() if each[0] != "equal"]
    for _kind, first, last, start, end in reversed(groups):
        yield "".join([*new[:start], *old[first:last], *new[end:]])
        if last - first == end - start > 1:
            for place in range(last - first):
                yield "".join([*new[: start + place], old[first + place], *new[start + place + 1 :]])
