"""Names of a Python file: those of its top level are shared by all its blocks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from stepcore.ide.names.base import Binding, Names, NameSpace, TextPart
from stepcore.ide.scan import table
from stepcore.ide.scopes import ROOT, Form, NameScope, Occurrence
from stepcore.records import make
from stepcore.text.span import Span


class PythonNames(Names):
    """Names of the top-level blocks of a Python file."""

    def __init__(self, blocks: Sequence[tuple[int, str]]) -> None:
        space = NameSpace.MODULE
        self.parts = [
            make(TextPart, (make(Span, (start, start + len(text))), table(text), space, None, -1))
            for start, text in blocks
        ]
        self._starts = [start for start, _ in blocks]

    @cached_property
    def bound(self) -> frozenset[str]:
        """All names of the module's top level."""
        return frozenset(name for part in self.parts for name in part.table.module_bound)

    @cached_property
    def weights(self) -> frozenset[str]:
        """The weights of all programs."""
        return frozenset(name for part in self.parts for name in part.table.weights)

    def programs_with(self, weight: str) -> list[NameScope]:
        """Return the programs that have a weight of this name."""
        scopes = (scope for part in self.parts for scope in part.table.scopes)
        return [scope for scope in scopes if scope.role == "program" and weight in scope.keyword_only]

    def functions(self, name: str) -> list[tuple[int, int]]:
        """Return part and scope of each function of the module that has this name."""
        found = ((number, part.table.functions.get((ROOT, name))) for number, part in enumerate(self.parts))
        return [(number, scope) for number, scope in found if scope is not None]

    def part_at(self, offset: int) -> tuple[int, int] | None:
        """Return the block around a place; the end of one is the start of the next."""
        number = bisect_right(self._starts, offset) - 1
        if number < 0:
            return None
        inner = self.parts[number].inner(offset)
        return None if inner is None else (number, inner)

    def bind(self, part: int, item: Occurrence) -> Binding:
        """Return what a name stands for."""
        if item.form is Form.KEYWORD:
            return self.keyword(part, item) or Binding(NameSpace.FREE, item.name, part)
        if item.form is Form.DATA:
            return Binding(NameSpace.WEIGHT if item.name in self.weights else NameSpace.FREE, item.name)
        if item.is_marked_size:
            return Binding(NameSpace.SIZE, item.name)
        if item.home > ROOT:
            scope = self.parts[part].table.scopes[item.home]
            if scope.role == "program" and item.name in scope.keyword_only:
                return Binding(NameSpace.WEIGHT, item.name)
            return Binding(NameSpace.LOCAL, item.name, part, item.home)
        return self._of_module(part, item)

    def _of_module(self, part: int, item: Occurrence) -> Binding:
        name = item.name
        if name in self.bound:
            return Binding(NameSpace.MODULE, name)
        if name in self.weights and self.parts[part].table.is_in_function(item.scope, "fn"):
            return Binding(NameSpace.WEIGHT, name)
        symbol = name.removesuffix("_value")
        if symbol != name and symbol in self.bound:
            return Binding(NameSpace.MODULE, symbol)
        return Binding(NameSpace.FREE, name)

    def elsewhere(self, binding: Binding, part: TextPart) -> Iterator[Occurrence]:
        """Yield the keyword-only parameters of functions that stand for a weight."""
        if binding.space is NameSpace.WEIGHT:
            for scope, owner in enumerate(part.table.scopes):
                if scope != ROOT and binding.name in owner.keyword_only:
                    yield from part.table.by_home.get((scope, binding.name), ())

    def root_names(self, part: TextPart) -> Iterator[Binding]:
        """Yield the names of the module, those of the block itself first."""
        own = part.table.module_bound
        for name in (*sorted(own), *sorted(self.bound - own)):
            yield Binding(NameSpace.MODULE, name)
        for name in sorted(self.weights - self.bound):
            yield Binding(NameSpace.WEIGHT, name)
