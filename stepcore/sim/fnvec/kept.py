"""What ``global`` made, which no body may change: it would compute something else in the next call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from stepcore.sim.fnvec.builtin import VIEWS, BoundMethod, SinglePass
from stepcore.sim.fnvec.scopes import ScopeNames
from stepcore.sim.fnvec.statements import Closure

_HOLDERS: Final = (list, tuple, dict, *VIEWS, Closure, BoundMethod)


def reached(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values and all that they hold, each once: items, what helpers keep from where they were made, defaults."""
    entered: set[int] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, _HOLDERS):
            if id(value) in entered:
                continue
            entered.add(id(value))
            pending += _held(value)
        yield value


def changeable(values: Iterable[Any]) -> set[int]:
    """Return the identities of all lists, dictionaries and iterators that values hold."""
    # An iterator is used up by its first reader.
    return {id(value) for value in reached(values) if isinstance(value, list | dict | SinglePass)}


def _held(value: Any) -> Iterable[Any]:
    match value:
        case Closure():  # the scope where it was made, that of ``global`` included: in fp64 this is another
            return (*value.defaults, value.scope)
        case BoundMethod():
            return (value.value,)
        case ScopeNames():
            return (*value.values(), value.around)
        case dict():
            return value.values()
    values: Iterable[Any] = value
    return values
