"""The names of functions that are being interpreted: one scope a function or comprehension, inside that around it.

A function made in a scope keeps that scope itself and no copy of it, as in Python: it finds what a name stands for when
it is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

# Names of a block whose names are global, or of one function.
Scope: TypeAlias = dict[str, Any]
NOTHING: Final = object()  # what find() gives where a name is not known
UNBOUND: Final = object()  # and where it is a function's own, and has no value yet


class ScopeNames(dict[str, Any]):
    """The names of one function or comprehension that have a value.

    ``own`` are all names that it binds somewhere: of one that has no value yet Python takes none from outside.
    ``around`` is the scope where the function was made, None where only global names lie outside.
    """

    __slots__ = ("around", "is_comprehension", "own")

    def __init__(
        self,
        names: Iterable[tuple[str, Any]] = (),
        own: frozenset[str] = frozenset(),
        around: Scope | None = None,
        *,
        is_comprehension: bool = False,
    ) -> None:
        super().__init__(names)
        self.own = own
        self.around = around
        self.is_comprehension = is_comprehension


def find(name: str, scope: Scope) -> Any:
    """Return what a name stands for, :data:`UNBOUND` or :data:`NOTHING`."""
    holder: Scope | None = scope
    while holder is not None:
        if name in holder:
            return holder[name]
        if not isinstance(holder, ScopeNames):
            break
        if name in holder.own:
            return UNBOUND
        holder = holder.around
    return NOTHING


def visible(scope: Scope) -> set[str]:
    """Return all names that can be seen from a scope."""
    found: set[str] = set()
    holder: Scope | None = scope
    while holder is not None:
        found |= holder.keys()
        holder = holder.around if isinstance(holder, ScopeNames) else None
    return found


def of_function(scope: Scope) -> Scope:
    """Return the scope of the function around comprehensions, where ``:=`` binds."""
    while isinstance(scope, ScopeNames) and scope.is_comprehension and scope.around is not None:
        scope = scope.around
    return scope
