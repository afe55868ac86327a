"""Semantic tokens: the role of every name, in Python text and in YAML; a consumed stream looks spent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, cast

from stepcore.fn.decl import FnDecl
from stepcore.frontend.functions import ELEMENTS
from stepcore.frontend.values import FnClass, Helper, ModuleRef, OperatorRef, OperatorValue, TypeMaker, Value
from stepcore.frontend.yaml.nodes import ListNode, ScalarNode
from stepcore.ide.analysis import Analysis
from stepcore.ide.meaning import Meaning, inner_span, meanings, member_meaning, units_with
from stepcore.ide.model import Kind, Token
from stepcore.ide.names.document import Form, Names, NameSpace, Reference, names_of
from stepcore.ide.tasks.tree import Entry, task_tree
from stepcore.records import make
from stepcore.sizes.dim import Dim
from stepcore.text.span import Span

_BY_SPACE: Final = {
    NameSpace.WEIGHT: Kind.WEIGHT, NameSpace.SIZE: Kind.SIZE, NameSpace.OUTPUT: Kind.OUTPUT,
    NameSpace.GLOBAL: Kind.VARIABLE, NameSpace.REFERENCES: Kind.VARIABLE, NameSpace.LOCAL: Kind.VARIABLE,
    NameSpace.MODULE: Kind.VARIABLE, NameSpace.IMPL: Kind.VARIABLE,
}  # fmt: skip
_MODULES: Final = frozenset({"step", "torch", "math"})
_VALUES: Final = frozenset({"data_gen", "init", "min", "max"})


def tokens(analysis: Analysis, span: Span | None = None) -> list[Token]:
    """Return the tokens of a region (None: of the document) in order; they do not overlap."""
    if analysis.kind == "none":
        return []
    names = names_of(analysis)
    found: list[Token] = []
    for number, part in enumerate(names.parts):
        if span is None or (part.span.start < span.end and part.span.end >= span.start):
            found += _of_part(analysis, names, number)
    if analysis.kind in ("task", "impl"):
        declared = (token for reference in names.declared() for token in _name(analysis, reference))
        # A quoted key or value may go over several lines; tokens may not.
        yaml = (token for token in _yaml(analysis) if "\n" not in analysis.source.slice(token.span))
        found = _in_order([*found, *declared, *yaml])
    return found if span is None else [token for token in found if span.start <= token.span.start < span.end]


def _in_order(found: Iterable[Token]) -> list[Token]:
    kept: list[Token] = []
    for token in sorted(found, key=lambda token: token.span):
        if token.span.end > token.span.start and (not kept or token.span.start >= kept[-1].span.end):
            kept.append(token)
    return kept


def _of_part(analysis: Analysis, names: Names, number: int) -> list[Token]:
    """Return the tokens of a part; those of a block that a unit checks are kept with the unit: it outlives edits."""
    part = names.parts[number]
    owner = next(units_with(analysis, Span(part.span.start, part.span.start)), None)
    if owner is None or part.code is not None:
        return _in_order(_tokens(analysis, names, number))
    unit, inner = owner
    key = f"tokens {inner.start}"
    start, found = unit.checking.memo.get(key) or (part.span.start, _in_order(_tokens(analysis, names, number)))
    if start != part.span.start:  # the block was moved by an edit before it
        found = _moved(found, part.span.start - start)
    unit.checking.memo[key] = part.span.start, found
    return cast("list[Token]", found)


def _moved(tokens: list[Token], by: int) -> list[Token]:
    return [make(Token, (make(Span, (start + by, end + by)), *role)) for (start, end), *role in tokens]


def _tokens(analysis: Analysis, names: Names, number: int) -> Iterator[Token]:
    part = names.parts[number]
    for item in part.table.names:
        yield from _name(analysis, names.reference(number, item))
    for member in part.table.members:
        if len(member.path) == 2:
            found = member_meaning(analysis, number, member)
            kind = _kind(found[0].value) if found else None
            if kind is not None and kind is not Kind.MODULE:
                yield Token(part.outer(member.span), kind)


def _name(analysis: Analysis, reference: Reference) -> Iterator[Token]:
    binding = reference.binding
    if reference.form is Form.KEYWORD:
        yield Token(reference.span, Kind.PARAMETER)
    elif binding.space is NameSpace.FREE:
        if binding.name in _MODULES and reference.form is Form.NAME and analysis.kind != "python":
            yield Token(reference.span, Kind.MODULE)
    elif binding.space in (NameSpace.WEIGHT, NameSpace.SIZE, NameSpace.OUTPUT):
        yield Token(reference.span, _BY_SPACE[binding.space], reference.is_store)
    else:
        found = meanings(analysis, reference)
        kind = (_kind(found[0].value) if found else None) or _BY_SPACE[binding.space]
        if any(meaning.streams for meaning in found):
            yield Token(reference.span, Kind.STREAM, reference.is_store, _is_spent(reference, found))
        elif kind is Kind.MODULE and _is_program(found):
            yield Token(reference.span, Kind.PROGRAM, reference.is_store)
        else:
            yield Token(reference.span, kind, reference.is_store)


def _is_spent(reference: Reference, found: list[Meaning]) -> bool:
    return inner_span(found[0].unit, reference.span) in found[0].seeing.spent


def _is_program(found: list[Meaning]) -> bool:
    module = found[0].unit.result.module
    value = found[0].value
    if module is None or not isinstance(value, ModuleRef):
        return False
    return value.name in {program.node.name for program in module.programs} | module.others.programs


def _kind(value: Value) -> Kind | None:
    match value:
        case FnDecl() | FnClass():
            return Kind.FUNCTION
        case OperatorRef() | OperatorValue():
            return Kind.OPERATOR
        case Helper():
            return Kind.HELPER
        case Dim():
            return Kind.SIZE
        case TypeMaker():
            return Kind.TYPE
        case ModuleRef():
            return Kind.MODULE
    return Kind.TYPE if isinstance(value, ELEMENTS) else None


# -- YAML -------------------------------------------------------------------------------------------------


def _yaml(analysis: Analysis) -> Iterator[Token]:
    tree = task_tree(analysis.source.text)
    for _, span in tree.types:
        yield Token(span, Kind.TYPE)
    for entry in tree.entries:
        yield Token(entry.key_span, Kind.KEY)
        if entry.key in _VALUES:
            yield from _value(entry)


def _value(entry: Entry) -> Iterator[Token]:
    nodes = entry.value.items if isinstance(entry.value, ListNode) else [entry.value]
    for node in nodes:
        if isinstance(node, ScalarNode) and not node.is_null and node.style in ("", "'", '"'):
            yield Token(node.span, Kind.VALUE)
