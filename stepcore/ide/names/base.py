"""Names of a document: bindings, the places that refer to them, and what both kinds of document share about them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from stepcore.ide.scopes import ROOT, Form, Member, NameScope, NameTable, Occurrence
from stepcore.text.span import Embedded, Span


class NameSpace(Enum):
    """Where a name is known. Only ``LOCAL`` names need a part and a scope to be told apart."""

    LOCAL = "local"  # of one function, comprehension, or body of a task's function
    MODULE = "module"  # of a Python file
    IMPL = "impl"  # of a task's program: its inputs, its functions, and what impl assigns
    GLOBAL = "global"  # what a task's global block binds
    REFERENCES = "references"  # what the data_transform blocks of a task assign, together
    WEIGHT = "weight"  # a parameter tensor; in Python files those of all programs together
    SIZE = "size"  # of a task
    OUTPUT = "output"  # of a task
    FREE = "free"  # bound nowhere in the document: builtins, ``torch``, mistakes


@dataclass(frozen=True, slots=True)
class Binding:
    """What a name stands for, as far as scopes tell: equal for all places that mean the same thing."""

    space: NameSpace
    name: str
    part: int = -1
    scope: int = -1


@dataclass(frozen=True, slots=True)
class Reference:
    """A place of the document that names ``binding``. ``span`` is the name alone: without quotes, ``M`` of ``M_value``.

    ``is_store`` tells that the name is bound or declared here. ``part`` is an index of :attr:`Names.parts`, -1 in YAML;
    ``scope`` the scope in which the name stands, within its part's table.
    """

    span: Span
    binding: Binding
    is_store: bool
    form: Form = Form.NAME
    part: int = -1
    scope: int = ROOT


class TextPart(NamedTuple):  # a tuple, because each edit makes one for each block of a file
    """A piece of Python text: a top-level block of a Python file, or a block of code in a task (``code``).

    ``span`` is its place in the document, ``space`` where names of its top level belong; ``item`` the number of the
    function or output that it belongs to.
    """

    span: Span
    table: NameTable
    space: NameSpace
    code: Embedded | None = None  # None: the text stands in the document as it is
    item: int = -1

    def inner(self, offset: int) -> int | None:
        """Return the offset in the part's text of a place in the document, None where the part is not."""
        if self.code is not None:
            return self.code.to_inner(offset)
        return offset - self.span.start if self.span.start <= offset <= self.span.end else None

    def outer(self, span: Span) -> Span:
        """Return where a span of the part's text stands in the document."""
        if self.code is not None:
            return self.code.span_to_outer(span)
        return Span(self.span.start + span.start, self.span.start + span.end)


class Names(ABC):
    """The names of one document. Positions are offsets of the document.

    - :meth:`at`: the name at a place, :meth:`of`: all places of a binding, :meth:`within`: all names in a region;
    - :meth:`visible`: what can be named at a place (for completion), innermost scope first;
    - :meth:`member_at`, :meth:`part_at`, :meth:`scope_at`: the syntax around a place.
    """

    parts: list[TextPart]

    # -- what the kinds of document differ in ---------------------------------------------------------------

    @abstractmethod
    def bind(self, part: int, item: Occurrence) -> Binding:
        """Return what a name of a part stands for."""

    def declared(self) -> list[Reference]:
        """Return the names that stand in YAML, in order."""
        return []

    def elsewhere(self, _binding: Binding, _part: TextPart) -> Iterator[Occurrence]:
        """Yield further names of a part that may stand for a binding of its top level."""
        return iter(())

    @abstractmethod
    def root_names(self, part: TextPart) -> Iterator[Binding]:
        """Yield what the top level of ``part`` can name, its own names first."""

    # -- places -----------------------------------------------------------------------------------------

    @abstractmethod
    def part_at(self, offset: int) -> tuple[int, int] | None:
        """Return the part around a place and the offset in its text."""

    def at(self, offset: int) -> Reference | None:
        """Return the name that holds ``offset`` or ends there."""
        found = self.part_at(offset)
        if found is not None:
            item = self.parts[found[0]].table.at(found[1])
            return None if item is None else self.reference(found[0], item)
        touching = (item for item in reversed(self.declared()) if item.span.start <= offset <= item.span.end)
        return next(touching, None)

    def of(self, binding: Binding) -> list[Reference]:
        """Return all places that name ``binding``, in the order of the document."""
        numbers = [binding.part] if binding.part >= 0 and not self._has_keywords(binding) else range(len(self.parts))
        found = [item for item in self.declared() if item.binding == binding]
        for number in numbers:
            for item in self.candidates(binding, self.parts[number]):
                if self.bind(number, item) == binding:
                    found.append(self.reference(number, item))
        return sorted(found, key=lambda item: item.span)

    def within(self, span: Span) -> Iterator[Reference]:
        """Yield all names that begin in a region, part by part, those in YAML last."""
        for number, part in enumerate(self.parts):
            if part.span.end >= span.start and part.span.start < span.end:
                for item in part.table.names:
                    found = self.reference(number, item)
                    if span.start <= found.span.start < span.end:
                        yield found
        for found in self.declared():
            if span.start <= found.span.start < span.end:
                yield found

    def member_at(self, offset: int) -> tuple[int, Member] | None:
        """Return the dotted name (``step.Map``) at a place, on its last part, and the part that it is in."""
        found = self.part_at(offset)
        member = None if found is None else self.parts[found[0]].table.member_at(found[1])
        return None if found is None or member is None else (found[0], member)

    def own(self, binding: Binding) -> Iterator[Reference]:
        """Yield the places of a local name within its own scope; keywords of calls are not among them."""
        for item in self.parts[binding.part].table.by_home.get((binding.scope, binding.name), ()):
            yield self.reference(binding.part, item)

    def scope_at(self, offset: int) -> tuple[int, int] | None:
        """Return the part and the innermost scope around a place."""
        found = self.part_at(offset)
        return None if found is None else (found[0], self.parts[found[0]].table.scope_at(found[1]))

    def scope(self, reference: Reference) -> NameScope | None:
        """Return the scope that binds a local name."""
        binding = reference.binding
        return self.parts[binding.part].table.scopes[binding.scope] if binding.part >= 0 else None

    def visible(self, offset: int) -> list[Binding]:
        """Return what can be named at a place, innermost scope first, hidden names left out."""
        found = self.scope_at(offset)
        if found is None:
            return []
        number, inner = found
        part = self.parts[number]
        bindings: dict[str, Binding] = {}
        for scope in part.table.visible(inner):
            if scope == ROOT:
                for binding in self.root_names(part):
                    bindings.setdefault(binding.name, binding)
                continue
            for name in sorted(part.table.scopes[scope].bound):
                item = Occurrence(Span(0, 0), name, scope, scope)
                bindings.setdefault(name, self.bind(number, item))
        return list(bindings.values())

    # -- helpers ------------------------------------------------------------------------------------------

    def reference(self, number: int, item: Occurrence) -> Reference:
        """Return a name of a part as a place of the document."""
        binding = self.bind(number, item)
        span = self.parts[number].outer(item.span)
        if binding.name != item.name and item.name.startswith(binding.name):  # M_value
            span = Span(span.start, span.start + len(binding.name))
        return Reference(span, binding, item.is_store, item.form, number, item.scope)

    def _has_keywords(self, binding: Binding) -> bool:
        return binding.scope >= 0 and binding.name in self.parts[binding.part].table.scopes[binding.scope].parameters

    def candidates(self, binding: Binding, part: TextPart) -> Iterator[Occurrence]:
        """Yield the names of ``part`` that may stand for ``binding``: all that do, and few others."""
        by_home, name = part.table.by_home, binding.name
        if binding.space is NameSpace.LOCAL:
            if part is self.parts[binding.part]:
                yield from by_home.get((binding.scope, name), ())
        else:
            yield from by_home.get((ROOT, name), ())
            yield from by_home.get((ROOT, f"{name}_value"), ())
            yield from self.elsewhere(binding, part)
        yield from self.loose(binding, part)

    def loose(self, binding: Binding, part: TextPart) -> Iterator[Occurrence]:
        """Yield the keywords, data and sizes of ``part`` that may mean ``binding``; keywords of its function only."""
        items = part.table.loose.get(binding.name)
        if items is None:
            return
        called = ""
        if binding.space is NameSpace.LOCAL:
            scopes = self.parts[binding.part].table.scopes
            owner = scopes[binding.scope]
            called = scopes[owner.parent].name if owner.name == "__init__" else owner.name
        called = "" if called == "lambda" else called  # known by the name that it is assigned to
        for item in items:
            if item.form is not Form.KEYWORD or part.table.text.startswith(called, item.callee):
                yield item

    def keyword(self, number: int, item: Occurrence) -> Binding | None:
        """Return the parameter that a keyword of a call means, if the document defines the function."""
        function = self.function(number, item.callee)
        if function is None:
            return None
        owner, scope = function
        if item.name not in self.parts[owner].table.scopes[scope].parameters:
            return None
        return self.bind(owner, Occurrence(item.span, item.name, scope, scope))

    def function(self, number: int, callee: int) -> tuple[int, int] | None:
        """Return part and scope of the function whose name stands at ``callee`` (offset in the text of a part)."""
        name = self.parts[number].table.at(callee)
        if name is None or name.form is not Form.NAME or name.span.start != callee:
            return None
        if name.home > ROOT:
            scope = self.parts[number].table.functions.get((name.home, name.name))
            return None if scope is None else (number, scope)
        return self.defined(self.bind(number, name))

    def defined(self, binding: Binding) -> tuple[int, int] | None:
        """Return part and scope of the function that a name of the document's top level stands for."""
        for number, part in enumerate(self.parts):
            scope = part.table.functions.get((ROOT, binding.name))
            if scope is not None and part.space is binding.space:
                return number, scope
        return None
