"""What the names of a document stand for: the values that elaboration saw at each place, and the life of streams."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from stepcore.check.affine import assign_slots
from stepcore.check.programs import Checked
from stepcore.fn.decl import FnDecl
from stepcore.frontend import calls
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    ModuleRef,
    OperatorRef,
    Seen,
    StreamRef,
    TypeMaker,
    UnknownSequence,
    Use,
    Value,
    find_stream,
    named_types,
)
from stepcore.graph.ir import GraphStream, Node
from stepcore.ide.analysis import Analysis, Checking, DocumentUnit
from stepcore.ide.names.document import Binding, Form, Member, NameSpace, Reference, names_of
from stepcore.ide.units import Piece
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import Dim
from stepcore.text.span import Span
from stepcore.text.wording import short_words
from stepcore.types import Element, Scalar, StreamType, element_text, shape_text

# A list of more streams is not followed item by item, and a name of a loop is looked at in so many rounds.
MAX_LISTED: Final = 256
MAX_ROUNDS: Final = 64


class Seeing:
    """What elaboration saw in one unit's text; every position counts in that text."""

    def __init__(self, checking: Checking) -> None:
        self.result = checking.result
        self.checked: Checked | None = self.result.programs[-1] if self.result.programs else None
        self._all = [] if self.result.module is None else list(self.result.module.seen)
        for program in self.result.programs:
            self._all += program.seen

    @cached_property
    def by_span(self) -> dict[Span, list[Seen]]:
        """What was seen at each name, in the first rounds of a loop; for a dotted name that is its last part."""
        # Two functions of the same text share their tree, but not its place.
        by_node: dict[tuple[int, int], list[Seen]] = {}
        for item in self._all:
            items = by_node.setdefault((id(item.code), id(item.node)), [])
            if len(items) < MAX_ROUNDS:
                items.append(item)
        found: dict[Span, list[Seen]] = {}
        for items in by_node.values():
            if isinstance(items[0].node, ast.Name | ast.Attribute):
                found.setdefault(_name_span(items[0]), []).extend(items)
        return found

    def values(self, span: Span) -> list[Value]:
        """Return the different values that the name at ``span`` had, in order; loops give several."""
        return distinct([item.value for item in self.by_span.get(span, ()) if item.value is not UNKNOWN])

    @cached_property
    def uses(self) -> dict[int, list[Use]]:
        """The consumptions of each stream, in program order."""
        found: dict[int, list[Use]] = {}
        for use in self.checked.uses if self.checked is not None else ():
            found.setdefault(use.stream, []).append(use)
        return found

    @cached_property
    def spent(self) -> frozenset[Span]:
        """The names whose streams are consumed there for the last permitted time, or were before."""
        if self.checked is None:
            return frozenset()
        ends: dict[int, set[int]] = {}  # stream -> the nodes that consume it
        for stream, uses in self.uses.items():
            first = (use for use, slot in zip(uses, assign_slots(uses), strict=True) if slot == 0)
            ends[stream] = {id(node) for use in first for expr in _consuming(use) for node in ast.walk(expr)}
        over: set[int] = set()
        found: dict[tuple[int, int], Seen] = {}
        for item in self.checked.seen:
            held = [index for _, index in streams_in(item.value)]
            over.update(index for index in held if id(item.node) in ends.get(index, ()))
            if held and not item.is_store and isinstance(item.node, ast.Name) and over.issuperset(held):
                found[id(item.code), id(item.node)] = item
        return frozenset(_name_span(item) for item in found.values())

    @cached_property
    def names(self) -> dict[Element, str]:
        """What the file calls its element types: ``ROW`` for ``Buffer(fp32, [D])``; numbers keep their own names."""
        module = self.result.module
        return {} if module is None else named_types(module.scope)

    def element_text(self, element: Element) -> str:
        """Return an element type under its name in the file, where it has one."""
        return element_text(element, self.names)

    def function_text(self, decl: FnDecl) -> str:
        """Return ``ROW -> fp32``: what an element function takes and gives."""
        return short_words(f"{self.element_text(decl.input)} -> {self.element_text(decl.output)}")

    def type_text(self, stream_type: StreamType | None) -> str:
        """Return ``[M, N] of ROW``, shape first, as messages write it; an unknown type says so."""
        if stream_type is None:
            return "unknown"
        return short_words(f"{shape_text(stream_type.shape)} of {self.element_text(stream_type.element)}")

    @cached_property
    def nodes(self) -> dict[Span, Node]:
        """The applications by the place of their operator (``step.Map``)."""
        nodes = () if self.checked is None else self.checked.graph.nodes
        return {node.op_span: node for node in nodes}


def _name_span(item: Seen) -> Span:
    span = node_span(item.code, item.node)
    return Span(span.end - len(item.node.attr), span.end) if isinstance(item.node, ast.Attribute) else span


def _consuming(use: Use) -> Iterator[ast.expr]:
    """Yield the expressions that consume: the argument itself, and those that handed the stream to a helper."""
    yield use.expr
    for context in use.context.chain():
        if context.kind == "call":
            for expr, value in context.arguments:
                if find_stream(value, use.stream) is not None:
                    yield expr


@dataclass(frozen=True, slots=True)
class Meaning:
    """One value of a name, and the unit that it is a value of."""

    value: Value
    unit: DocumentUnit

    @property
    def seeing(self) -> Seeing:
        """What was seen in the unit."""
        return seeing(self.unit)

    @property
    def streams(self) -> list[tuple[str, GraphStream]]:
        """The streams that the value is or holds, each with its place in it (``[0]``)."""
        checked = self.seeing.checked
        if checked is None:
            return []
        return [(place, checked.graph.streams[index]) for place, index in streams_in(self.value)]


def seeing(unit: DocumentUnit) -> Seeing:
    """Return what was seen in a unit, worked out once per text."""
    found = unit.checking.memo.get("seeing")
    if found is None:
        found = unit.checking.memo["seeing"] = Seeing(unit.checking)
    assert isinstance(found, Seeing)
    return found


def inner_span(unit: DocumentUnit, span: Span) -> Span | None:
    """Return where a span of the document stands in the unit's text; None where it does not, or is cut."""
    for piece in unit.pieces:
        found = _in_piece(piece, span)
        if found is not None:
            return found
    return None


def _in_piece(piece: Piece, span: Span) -> Span | None:
    # At the border of two pieces a name belongs to the one that it begins.
    start = span.start - piece.outer
    if start >= 0 and span.end - piece.outer <= piece.length and (start < piece.length or not piece.length):
        return Span(piece.inner + start, piece.inner + span.end - piece.outer)
    return None


def units_with(analysis: Analysis, span: Span) -> Iterator[tuple[DocumentUnit, Span]]:
    """Yield the units that hold a span, the one that it belongs to first, and the span in their texts."""
    starts, pieces = _pieces(analysis)
    number = bisect_right(starts, span.start) - 1
    for unit, piece in pieces[starts[number]] if number >= 0 else ():
        inner = _in_piece(piece, span)
        if inner is not None:
            yield unit, inner


def _pieces(analysis: Analysis) -> tuple[list[int], dict[int, list[tuple[DocumentUnit, Piece]]]]:
    """Return where pieces of units begin in the document, and which units each belongs to, its own unit first."""
    found = analysis.memo.get("pieces")
    if found is None:
        pieces: dict[int, list[tuple[DocumentUnit, Piece]]] = {}
        for unit in analysis.units:
            for piece in unit.pieces:
                pieces.setdefault(piece.outer, []).append((unit, piece))
        for start, owners in pieces.items():
            owners.sort(key=lambda owner: not owner[0].focus.start <= start < max(owner[0].focus.end, 1))
        found = analysis.memo["pieces"] = sorted(pieces), pieces
    return cast("tuple[list[int], dict[int, list[tuple[DocumentUnit, Piece]]]]", found)


def meanings(analysis: Analysis, reference: Reference) -> list[Meaning]:
    """Return what a name stands for: what was seen there, else what its binding stands for."""
    found = seen_at(analysis, reference.span)
    if found:
        return found
    return _declared(analysis, reference) or _elsewhere(analysis, reference)


def seen_at(analysis: Analysis, span: Span) -> list[Meaning]:
    """Return the values that elaboration saw at exactly this name."""
    for unit, inner in units_with(analysis, span):
        values = seeing(unit).values(inner)
        if values:
            return [Meaning(value, unit) for value in values]
    return []


def _declared(analysis: Analysis, reference: Reference) -> list[Meaning]:
    """Values of what is declared: inputs, functions, sizes, names of the module."""
    binding = reference.binding
    for unit, inner in units_with(analysis, reference.span):
        value: Value = _input(unit, binding, inner)
        if value is None and binding.space is NameSpace.SIZE:
            value = Dim.symbol(binding.name)
        if value is None and binding.space is NameSpace.IMPL:
            task = unit.result.task
            fns = task.spec.fns if task is not None and task.spec is not None else ()
            value = next((fn for fn in fns if fn.func_name == binding.name), None)
        if value is None and binding.space is NameSpace.MODULE and unit.result.module is not None:
            value = unit.result.module.scope.names.get(binding.name)
        if value is not None and value is not UNKNOWN:
            return [Meaning(value, unit)]
    return []


def _input(unit: DocumentUnit, binding: Binding, inner: Span) -> StreamRef | None:
    """Return the stream that is declared at ``inner``, or in YAML under the binding's name."""
    checked = seeing(unit).checked
    if checked is None:
        return None
    for index in checked.graph.inputs:
        stream = checked.graph.streams[index]
        if stream.span == inner if unit.result.task is None else _is_input(binding, stream):
            return StreamRef(index)
    return None


def _is_input(binding: Binding, stream: GraphStream) -> bool:
    return binding.space is NameSpace.IMPL and binding.name == stream.name


def _elsewhere(analysis: Analysis, reference: Reference) -> list[Meaning]:
    """Values that the same binding has at other places: parameters of helpers are named only there."""
    if reference.binding.space is not NameSpace.LOCAL:
        return []
    for other in names_of(analysis).own(reference.binding):
        found = seen_at(analysis, other.span)
        if found:
            return found
    return []


def member_meaning(analysis: Analysis, part: int, member: Member) -> list[Meaning]:
    """Return what a dotted name (``step.Map``) stands for, in code that was never evaluated too."""
    names = names_of(analysis)
    span = names.parts[part].outer(member.span)
    found = seen_at(analysis, span)
    if found:
        return found
    root = names.at(names.parts[part].outer(Span(member.root, member.root)).start)
    if root is None:
        return []
    for owner in module_of(analysis, root):
        if isinstance(owner.value, ModuleRef) and owner.value.name == "stepcore" and len(member.path) == 2:
            value = stepcore_member(member.path[1], analysis.dialect)
            return [] if value is None else [Meaning(value, owner.unit)]
    return []


def callee_meanings(analysis: Analysis, part: int, callee: int) -> list[Meaning]:
    """Return what is called by the name at ``callee``, an offset in the text of a part: ``step.Map``, ``Map``."""
    names = names_of(analysis)
    member = names.parts[part].table.member_at(callee)
    if member is not None and member.span.start == callee:
        return member_meaning(analysis, part, member)
    named = names.at(names.parts[part].outer(Span(callee, callee)).start)
    return [] if named is None else meanings(analysis, named)


def is_size(analysis: Analysis, item: Reference) -> bool:
    """Return whether what names a size does: the text in a ``dyn("L")`` that is not ours names none."""
    if item.form is not Form.SIZE or not item.is_store or item.part < 0:
        return True
    part = names_of(analysis).parts[item.part]
    found = part.table.at(part.inner(item.span.start) or 0)
    assert found is not None
    return any(isinstance(each.value, TypeMaker) for each in callee_meanings(analysis, item.part, found.callee))


def module_of(analysis: Analysis, root: Reference) -> list[Meaning]:
    """Return what the first name of a dotted name stands for; ``step`` of a task is never imported."""
    if analysis.kind != "python" and root.binding.space is NameSpace.FREE and root.binding.name == "step":
        return [Meaning(ModuleRef("stepcore"), analysis.units[0])]
    return meanings(analysis, root)


def stepcore_member(name: str, dialect: Dialect) -> Value | None:
    """Return what ``step.NAME`` is, None where there is nothing of that name."""
    if name in dialect.by_name:
        return OperatorRef(name, dialect.by_name[name])
    if name in calls.SCALARS:
        return Scalar(calls.SCALARS[name])
    if name == "dims":
        return ModuleRef("stepcore.dims")
    known = (calls.TYPE_MAKERS, calls.MARKERS, calls.FUNCTIONS, ("fns",))
    return TypeMaker(name) if any(name in names for names in known) else None


def streams_in(value: Value) -> list[tuple[str, int]]:
    """Return the streams that a value is or holds, each with its place in it; none for very long lists."""
    found: list[tuple[str, int]] = []

    def visit(item: Value, place: str) -> bool:
        if len(found) > MAX_LISTED or len(place) > MAX_LISTED:
            return False
        match item:
            case StreamRef(index=index):
                found.append((place, index))
            case Alternatives(options=options):
                found.extend((place, option.index) for _, option in options)
            case UnknownSequence(item=inner):
                return visit(inner, f"{place}[...]")
            case list() | tuple():
                return all(visit(part, f"{place}[{number}]") for number, part in enumerate(item))
        return True

    return found if visit(value, "") and len(found) <= MAX_LISTED else []


def distinct(values: list[Value]) -> list[Value]:
    """Return the different values among ``values``, in order; lists are told apart by identity."""
    found: list[Value] = []
    known: set[object] = set()
    for value in values:
        key: object = value if isinstance(value, StreamRef | Dim | int | str) else id(value)
        if key not in known:
            known.add(key)
            found.append(value)
    return found


def line_of(analysis: Analysis, unit: DocumentUnit) -> Callable[[Span], int | None]:
    """Return what gives the line (from 1) of a span of the unit's text, None where the document lacks it."""

    def line(span: Span) -> int | None:
        outer = unit.to_document(span)
        return None if outer is None else analysis.source.line_col(outer.start)[0] + 1

    return line
