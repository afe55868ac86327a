"""What :mod:`stepcore.ide.scan` finds in one block of Python text: its names, and which scope binds each.

A :class:`NameTable` knows nothing but its text; what several blocks share (the names of a module) is joined by
:mod:`stepcore.ide.names.document`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Final, Literal, TypeVar

from stepcore.sizes.dim import OPEN
from stepcore.text.span import Span

ROOT: Final = 0  # the scope of the block's own top level


class Form(Enum):
    """How a name is written."""

    NAME = "name"
    KEYWORD = "keyword"  # of a call
    DATA = "data"  # input_data['W']
    PORT = "port"  # a key of data= in @step.program
    SIZE = "size"  # Symbol("L"); of dyn("L") and a key of sizes= the name has the mark, which the span leaves out


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A name in the text. It stands in scope ``scope``; ``home`` is the one that binds it, :data:`ROOT` if none does.

    For a keyword, and a size that a call names, ``callee`` is the offset of the (last) name that is called. What is no
    plain name has no home (-1), but a port the scope of its program.
    """

    span: Span
    name: str
    scope: int
    home: int
    is_store: bool = False
    form: Form = Form.NAME
    callee: int = -1

    @property
    def is_marked_size(self) -> bool:
        """Whether this is a size whose name begins with its mark, which the text leaves out or has before the name."""
        return self.form is Form.SIZE and (self.callee >= 0 or self.name[0] in OPEN)


@dataclass(frozen=True, slots=True)
class Member:
    """``step.Map``: ``span`` is that of the last name, ``path`` all names, ``root`` the offset of the first."""

    span: Span
    path: tuple[str, ...]
    root: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """``input_data[f'W{i}']``, ``step.dyn(f'L{i}')``: a name that only a run can tell; ``regex`` matches it."""

    span: Span
    regex: str
    mark: str = ""  # of a size


@dataclass(slots=True)
class NameScope:
    """A function, class or comprehension. ``role`` is the last name of a decorator: ``program``, ``fn``; for methods
    of a subclass of ``step.Fn`` it is ``fn`` too. ``keyword_only`` are parameters behind a star: a program's weights.

    ``reference`` is the name of what a program is compared with, "" where no plain name says it; ``takes_any`` tells
    that a function takes whatever keywords it is given.
    """

    kind: Literal["root", "function", "class", "comprehension"]
    parent: int
    name: str
    span: Span
    column: int = 0
    role: str = ""
    bound: set[str] = field(default_factory=set)
    parameters: tuple[str, ...] = ()
    keyword_only: frozenset[str] = frozenset()
    takes_any: bool = False
    reference: str | None = None
    module_names: set[str] = field(default_factory=set)  # declared ``global``
    outer_names: set[str] = field(default_factory=set)  # declared ``nonlocal``


@dataclass(frozen=True)
class NameTable:
    """All names of one text, in order. ``functions`` are the scopes of functions by (home, name) of their names.

    ``imported`` are the names that imports bind without ``as``, ``*`` among them; ``is_unread`` tells that nothing of
    the text could be parsed.
    """

    text: str
    scopes: tuple[NameScope, ...]
    names: tuple[Occurrence, ...]
    members: tuple[Member, ...]
    patterns: tuple[Pattern, ...]
    functions: dict[tuple[int, str], int]
    imported: frozenset[str]
    is_unread: bool

    @cached_property
    def _starts(self) -> list[int]:
        return [item.span.start for item in self.names]

    @cached_property
    def _member_starts(self) -> list[int]:
        return [item.span.start for item in self.members]

    @cached_property
    def by_home(self) -> dict[tuple[int, str], list[Occurrence]]:
        """Plain names, ports and their like by (home, name), in order."""
        found: dict[tuple[int, str], list[Occurrence]] = {}
        for item in self.names:
            if item.home >= 0:
                found.setdefault((item.home, item.name), []).append(item)
        return found

    @cached_property
    def module_bound(self) -> frozenset[str]:
        """Names that the text binds at its own top level, in functions through ``global`` too."""
        stored = (item.name for item in self.names if item.home == ROOT and item.is_store)
        return frozenset((*stored, *self.scopes[ROOT].bound))

    @cached_property
    def weights(self) -> frozenset[str]:
        """The keyword-only parameters of programs: their weights."""
        return frozenset(name for scope in self.scopes if scope.role == "program" for name in scope.keyword_only)

    def is_in_function(self, scope: int, role: str) -> bool:
        """Return whether ``scope`` is a function of that role or inside one."""
        return any(self.scopes[at].role == role and self.scopes[at].kind == "function" for at in self.around(scope))

    @cached_property
    def loose(self) -> dict[str, list[Occurrence]]:
        """Occurrences whose binding other texts decide, by name: keywords, data and sizes."""
        found: dict[str, list[Occurrence]] = {}
        for item in self.names:
            if item.home < 0:
                found.setdefault(item.name, []).append(item)
        return found

    def at(self, offset: int) -> Occurrence | None:
        """Return the name that holds ``offset`` or ends there."""
        return _touching(self.names, self._starts, offset)

    def member_at(self, offset: int) -> Member | None:
        """Return the dotted name whose last part holds ``offset`` or ends there."""
        return _touching(self.members, self._member_starts, offset)

    def within(self, span: Span) -> tuple[Occurrence, ...]:
        """Return the names that begin in ``span``."""
        return self.names[bisect_left(self._starts, span.start) : bisect_left(self._starts, span.end)]

    def scope_at(self, offset: int) -> int:
        """Return the innermost scope around a place; behind the end of a function the line's indentation tells."""
        line = self.text.rfind("\n", 0, offset) + 1
        rest = self.text[line:]
        column = min(len(rest) - len(rest.lstrip(" \t")), offset - line)
        best = ROOT
        for index, scope in enumerate(self.scopes):
            after = scope.kind in ("function", "class") and offset > scope.span.end and column > scope.column
            if scope.span.start <= offset <= scope.span.end or (after and self._is_last(index, offset)):
                best = index
        return best

    def _is_last(self, index: int, offset: int) -> bool:
        """Return whether no later scope beside ``index`` begins before ``offset``."""
        here = self.scopes[index]
        return not any(
            here.span.end < other.span.start <= offset and other.column <= here.column and other.kind == "function"
            for other in self.scopes[index + 1 :]
        )

    def around(self, scope: int) -> Iterator[int]:
        """Yield ``scope`` and the scopes around it, the root last."""
        while scope >= 0:
            yield scope
            scope = self.scopes[scope].parent

    def visible(self, scope: int) -> Iterator[int]:
        """Yield the scopes whose names can be seen from ``scope``, innermost first, the root last."""
        return (at for at in self.around(scope) if at == scope or self.scopes[at].kind != "class")


_Placed = TypeVar("_Placed", Occurrence, Member)


def _touching(items: tuple[_Placed, ...], starts: list[int], offset: int) -> _Placed | None:
    index = bisect_right(starts, offset) - 1
    for item in reversed(items[max(index - 1, 0) : index + 1]):
        if item.span.start <= offset <= item.span.end:
            return item
    return None
