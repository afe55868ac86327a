"""Names of a task file, and of a file that answers one: declarations in YAML, and the code that uses them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Final

from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.graph.ir import ProgramSpec
from stepcore.ide.names.base import Binding, Names, NameSpace, Reference, TextPart
from stepcore.ide.scan import body_table
from stepcore.ide.scopes import ROOT, Form, Occurrence
from stepcore.ide.tasks.tree import TaskTree
from stepcore.text.span import Span

_SPACES: Final = {
    "input": NameSpace.IMPL,
    "fn": NameSpace.IMPL,
    "parameter": NameSpace.WEIGHT,
    "output": NameSpace.OUTPUT,
}


class TaskNames(Names):
    """Names of a task file. ``spec`` is what an answer file answers: it declares names that stand in no text here."""

    def __init__(self, tree: TaskTree, spec: ProgramSpec | None) -> None:
        self.tree = tree
        self.spec = spec
        self.parts = [
            TextPart(item.code.outer, body_table(item.code.text, item.arguments), item.space, item.code, item.item)
            for item in tree.codes
        ]

    # -- what is known -----------------------------------------------------------------------------------

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The input streams."""
        ports = () if self.spec is None else self.spec.inputs
        return frozenset((*self._named("input"), *(port.name for port in ports)))

    @cached_property
    def functions(self) -> frozenset[str]:
        """The element functions, as ``impl`` calls them."""
        fns = () if self.spec is None else self.spec.fns
        return frozenset((*self._named("fn"), *(fn.func_name for fn in fns)))

    @cached_property
    def weights(self) -> frozenset[str]:
        """The parameters."""
        return frozenset(self._named("parameter"))

    @cached_property
    def sizes(self) -> frozenset[str]:
        """All symbols: predeclared ones, those in types and shapes, and those that ``global`` makes."""
        made = (
            name
            for part in self.parts
            for name, items in part.table.loose.items()
            if any(item.form is Form.SIZE for item in items)
        )
        known = () if self.spec is None else self.spec.scope.symbols
        return frozenset((*PREDECLARED_SYMBOLS, *(name for name, _ in self.tree.sizes), *made, *known))

    def _named(self, owner: str) -> Iterator[str]:
        return (name for item, name, _ in self.tree.names if item.owner == owner)

    def _bound_in(self, space: NameSpace) -> frozenset[str]:
        parts = (part for part in self.parts if part.space is space)
        return frozenset(name for part in parts for name in part.table.module_bound)

    @cached_property
    def _bound(self) -> dict[NameSpace, frozenset[str]]:
        return {space: self._bound_in(space) for space in (NameSpace.GLOBAL, NameSpace.IMPL, NameSpace.REFERENCES)}

    @cached_property
    def _declared(self) -> list[Reference]:
        found = [
            Reference(span, Binding(_SPACES[item.owner], name), True)
            for item, name, span in self.tree.names
        ]  # fmt: skip
        found += [Reference(span, Binding(NameSpace.SIZE, name), False) for name, span in self.tree.sizes]
        found += [Reference(span, Binding(NameSpace.WEIGHT, name), False) for name, span in self.tree.memories]
        return sorted(found, key=lambda item: item.span)

    def declared(self) -> list[Reference]:
        """Return the declarations, the sizes in types and shapes, and the parameters that outputs name."""
        return self._declared

    # -- resolution ---------------------------------------------------------------------------------------

    def part_at(self, offset: int) -> tuple[int, int] | None:
        """Return the block of code around a place."""
        for number, part in enumerate(self.parts):
            inner = part.inner(offset)
            if inner is not None:
                return number, inner
        return None

    def bind(self, part: int, item: Occurrence) -> Binding:
        """Return what a name stands for."""
        name = item.name
        match item.form:
            case Form.KEYWORD:
                return self.keyword(part, item) or Binding(NameSpace.FREE, name, part)
            case Form.DATA:
                space = (
                    NameSpace.IMPL
                    if name in self.inputs
                    else NameSpace.WEIGHT
                    if name in self.weights
                    else NameSpace.FREE
                )
                return Binding(space, name)
            case Form.SIZE:
                return Binding(NameSpace.SIZE, name)
        if item.home > ROOT:
            return Binding(NameSpace.LOCAL, name, part, item.home)
        return self._of_root(part, name)

    def _of_root(self, number: int, name: str) -> Binding:
        part = self.parts[number]
        if part.space is NameSpace.LOCAL and name in part.table.module_bound:
            return Binding(NameSpace.LOCAL, name, number, ROOT)
        if part.space is NameSpace.GLOBAL:
            return self._size(name) or Binding(
                NameSpace.GLOBAL if name in self._bound[NameSpace.GLOBAL] else NameSpace.FREE, name
            )
        if part.space is not NameSpace.LOCAL and name in self._bound[part.space]:
            return Binding(part.space, name)
        if part.space is NameSpace.IMPL:
            if name in self.inputs or name in self.functions:
                return Binding(NameSpace.IMPL, name)
            if name in self.weights:  # as memory off chip
                return Binding(NameSpace.WEIGHT, name)
            return self._size(name) or Binding(NameSpace.FREE, name)
        size = self._size(name)
        if size is not None:
            return size
        return Binding(NameSpace.GLOBAL if name in self._bound[NameSpace.GLOBAL] else NameSpace.FREE, name)

    def _size(self, name: str) -> Binding | None:
        if name in self.sizes:
            return Binding(NameSpace.SIZE, name)
        symbol = name.removesuffix("_value")
        return Binding(NameSpace.SIZE, symbol) if symbol != name and symbol in self.sizes else None

    def root_names(self, part: TextPart) -> Iterator[Binding]:
        """Yield what the top level of a block of code can name."""
        number = self.parts.index(part)
        names = [*sorted(part.table.module_bound)]
        if part.space is NameSpace.IMPL:
            names += [*sorted(self.inputs), *sorted(self.functions), *sorted(self.weights)]
        else:
            names += [*sorted(self._bound.get(part.space, ())), *sorted(self._bound[NameSpace.GLOBAL])]
        names += sorted(name for name in self.sizes if name.isidentifier())
        for name in names:
            yield self.bind(number, Occurrence(Span(0, 0), name, ROOT, ROOT))
