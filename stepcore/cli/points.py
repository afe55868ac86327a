"""Commands of other packages, and what they begin before the command line is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any, Final

GROUP: Final = "stepsmith.commands"
OWN: Final = frozenset({"check", "convert", "doctor", "explain", "hw", "ops", "simulate", "time", "verify"})


def entry_points() -> dict[str, Any]:
    """Return the entry points of commands by their names."""
    from importlib.metadata import entry_points  # here, because our own commands do not need it

    return {point.name: point for point in entry_points(group=GROUP)}


@contextmanager
def begun(words: Sequence[str]) -> Iterator[None]:
    """Let the package of another command begin what takes long while we import what reads the command line.

    A package with commands may have a module ``ahead`` with a function ``begun(words)`` that returns a context manager.
    It gets all words unread, so it may begin only what does no harm when they turn out to be wrong.
    """
    ahead = _ahead(words[0]) if words and words[0] not in OWN and not words[0].startswith("-") else None
    with nullcontext() if ahead is None else ahead.begun(words):
        yield


def _ahead(command: str) -> Any:
    """Return the module ``ahead`` of the package that has a command, or None."""
    point = entry_points().get(command)
    if point is None:
        return None
    name = f"{point.module.partition('.')[0]}.ahead"
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return None
