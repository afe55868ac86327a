"""From a name to where it is defined, and to all places that use it. Positions are offsets of the document."""

from __future__ import annotations

from stepcore.frontend.values import StreamRef, Value
from stepcore.ide.analysis import Analysis
from stepcore.ide.meaning import is_size, seen_at, streams_in, units_with
from stepcore.ide.names.document import Binding, Form, Names, NameSpace, Reference, names_of
from stepcore.ide.rename import prepare_rename, rename
from stepcore.text.span import Span


def definition(analysis: Analysis, offset: int) -> list[Span]:
    """Return where the name at ``offset`` gets its meaning; of a rebound name the assignment that is seen here.

    Empty for what the document does not define: operators, builtins, names of the task that an answer belongs to.
    """
    found = _reference(analysis, offset)
    if found is None:
        return []
    names, reference = found
    stores = [item for item in _places(analysis, names, reference.binding) if item.is_store]
    if reference.is_store and reference.form is Form.NAME:
        return [reference.span]
    return [item.span for item in _assigning(analysis, reference, stores) or stores]


def references(analysis: Analysis, offset: int, *, declaration: bool = True) -> list[Span]:
    """Return all places that name what the name at ``offset`` names; without declarations where not wanted."""
    found = _reference(analysis, offset)
    if found is None:
        return []
    names, reference = found
    return [item.span for item in _places(analysis, names, reference.binding) if declaration or not item.is_store]


def highlights(analysis: Analysis, offset: int) -> list[Span]:
    """Return what to highlight while the cursor is at ``offset``."""
    return references(analysis, offset, declaration=True)


def _reference(analysis: Analysis, offset: int) -> tuple[Names, Reference] | None:
    if analysis.kind == "none":
        return None
    names = names_of(analysis)
    reference = names.at(offset)
    if reference is None or (reference.form is Form.KEYWORD and reference.binding.space is NameSpace.FREE):
        return None
    return names, reference


def _places(analysis: Analysis, names: Names, binding: Binding) -> list[Reference]:
    """Return the places of a binding. A size is defined where ``global`` makes or binds it."""
    found = [item for item in names.of(binding) if is_size(analysis, item)]
    if binding.space is NameSpace.SIZE and not any(item.is_store for item in found):
        return [_as_store(item) if item.form is Form.SIZE else item for item in found]
    return found


def _as_store(item: Reference) -> Reference:
    return Reference(item.span, item.binding, True, item.form, item.part, item.scope)


def _assigning(analysis: Analysis, reference: Reference, stores: list[Reference]) -> list[Reference]:
    """Return those assignments that gave the name the value that it has at this place."""
    if len(stores) < 2:
        return []
    values = [meaning.value for meaning in seen_at(analysis, reference.span)]
    found = [store for store in stores if _gives(analysis, store, values)]
    if not found and reference.binding.space is not NameSpace.SIZE:
        return []
    return found


def _gives(analysis: Analysis, store: Reference, values: list[Value]) -> bool:
    given = [meaning.value for meaning in seen_at(analysis, store.span)]
    if not given:  # an input or a parameter is declared, not assigned
        given = _declared_streams(analysis, store)
    return any(_same(a, b) for a in given for b in values)


def _same(first: Value, second: Value) -> bool:
    if first is second:
        return True
    indices = {index for _, index in streams_in(second)}
    return isinstance(first, StreamRef) and first.index in indices


def _declared_streams(analysis: Analysis, store: Reference) -> list[Value]:
    found: list[Value] = []
    for unit, inner in units_with(analysis, store.span):
        if unit.checked is None:
            continue
        graph = unit.checked.graph
        for index in graph.inputs:
            stream = graph.streams[index]
            if stream.span == inner or (unit.result.task is not None and stream.name == store.binding.name):
                found.append(StreamRef(index))
    return found


__all__ = ["definition", "highlights", "prepare_rename", "references", "rename"]
