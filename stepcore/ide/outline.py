"""The outline of a document, and the regions that can be folded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.frontend.functions import ELEMENTS
from stepcore.frontend.syntax import parse_suite
from stepcore.frontend.values import FnClass
from stepcore.ide.analysis import Analysis
from stepcore.ide.meaning import meanings, seen_at
from stepcore.ide.model import Folding, Kind, Symbol
from stepcore.ide.names.document import ROOT, Names, NameScope, NameSpace, Reference, TextPart, names_of
from stepcore.ide.tasks.tree import Entry, TaskEntry, TaskTree, task_tree
from stepcore.text.remembered import remembered_text
from stepcore.text.span import SourceFile, Span
from stepcore.text.wording import short_words

_OWNERS: Final = {"input": Kind.STREAM, "parameter": Kind.WEIGHT, "fn": Kind.FUNCTION, "output": Kind.OUTPUT}
_LISTS: Final = {"inputs": "input", "parameters": "parameter", "fns": "fn", "outputs": "output"}


def symbols(analysis: Analysis) -> list[Symbol]:
    """Return the outline: programs with their streams, functions, types and sizes; in a task file, its keys."""
    if analysis.kind == "none":
        return []
    names = names_of(analysis)
    if analysis.kind == "python":
        return [symbol for number in range(len(names.parts)) for symbol in _block(analysis, names, number)]
    return _task(analysis, names, task_tree(analysis.source.text))


# -- Python -------------------------------------------------------------------------------------------------


def _block(analysis: Analysis, names: Names, number: int) -> Iterator[Symbol]:
    """Yield the symbols of one top-level block: what it defines, imports left out."""
    part = names.parts[number]
    table = part.table
    whole = Span(part.span.start, part.span.start + len(table.text.rstrip()))
    seen: set[str] = set()
    for item in table.names:
        if not item.is_store or item.home != ROOT or item.scope != ROOT or item.name in seen:
            continue
        seen.add(item.name)
        reference = names.reference(number, item)
        inner = table.functions.get((ROOT, item.name))
        scope = None if inner is None else table.scopes[inner]
        if scope is not None:
            yield _function(analysis, names, number, reference, scope, whole)
        elif not _is_import(table.text):
            kind, detail = _described(analysis, reference)
            yield Symbol(item.name, kind, whole, reference.span, short_words(detail))


def _is_import(text: str) -> bool:
    body = parse_suite(text).body
    return bool(body) and all(isinstance(item, ast.Import | ast.ImportFrom) for item in body)


def _described(analysis: Analysis, reference: Reference) -> tuple[Kind, str]:
    found = meanings(analysis, reference)
    value = found[0].value if found else None
    if isinstance(value, FnDecl | FnClass):
        return Kind.FUNCTION, found[0].seeing.function_text(value) if isinstance(value, FnDecl) else ""
    if isinstance(value, ELEMENTS):
        return Kind.TYPE, str(value)
    return Kind.VARIABLE, ""


def _function(
    analysis: Analysis, names: Names, number: int, reference: Reference, scope: NameScope, whole: Span
) -> Symbol:
    found = meanings(analysis, reference)
    value = found[0].value if found else None
    name = reference.binding.name
    if scope.role == "program":
        children = tuple(_streams(analysis, names, number, scope))
        return Symbol(name, Kind.PROGRAM, whole, reference.span, "program", children)
    if isinstance(value, FnDecl | FnClass) or scope.role == "fn":
        detail = found[0].seeing.function_text(value) if isinstance(value, FnDecl) else ""
        return Symbol(name, Kind.FUNCTION, whole, reference.span, detail)
    return Symbol(name, Kind.HELPER, whole, reference.span)


def _streams(analysis: Analysis, names: Names, number: int, scope: NameScope) -> Iterator[Symbol]:
    """Yield inputs, weights and assigned names of a program, each once."""
    part = names.parts[number]
    index = part.table.scopes.index(scope)
    seen: set[str] = set()
    for item in part.table.names:
        if item.is_store and item.home == index and item.name not in seen:
            seen.add(item.name)
            reference = names.reference(number, item)
            kind = Kind.WEIGHT if reference.binding.space is NameSpace.WEIGHT else Kind.STREAM
            yield Symbol(item.name, kind, reference.span, reference.span, _stream_type(analysis, reference))


def _stream_type(analysis: Analysis, reference: Reference) -> str:
    found = seen_at(analysis, reference.span) or meanings(analysis, reference)
    for meaning in found:
        types = {meaning.seeing.type_text(stream.type) for _, stream in meaning.streams}
        if len(types) == 1:
            return types.pop()
    return ""


# -- task files ---------------------------------------------------------------------------------------------


def _task(analysis: Analysis, names: Names, tree: TaskTree) -> list[Symbol]:
    return [_entry(analysis, names, tree, entry) for entry in tree.entries if entry.owner == "task" and entry.key]


def _entry(analysis: Analysis, names: Names, tree: TaskTree, entry: Entry) -> Symbol:
    children: tuple[Symbol, ...] = ()
    kind = Kind.KEY
    if entry.key in _LISTS:
        children = tuple(_item(tree, item) for item in tree.of(_LISTS[entry.key]))
    elif entry.key == "impl":
        kind = Kind.PROGRAM
        parts = (number for number, part in enumerate(names.parts) if part.space is NameSpace.IMPL)
        children = tuple(symbol for number in parts for symbol in _assigned(analysis, names, number))
    span = _trimmed(analysis.source.text, entry.span)
    span = Span(span.start, max([span.end, *(child.span.end for child in children)]))
    return Symbol(entry.key, kind, span, entry.key_span, children=children)


def _item(tree: TaskTree, item: TaskEntry) -> Symbol:
    name, span = next(((name, at) for owner, name, at in tree.names if owner is item), ("", item.span))
    if not name or not item.span.start <= span.start <= span.end <= item.span.end:
        name, span = name or f"{item.owner} {item.number + 1}", Span(item.span.start, item.span.start)
    if item.owner == "fn":
        detail = " -> ".join(_text(item.fields.get(key)) for key in ("input_dtype", "output_dtype"))
    else:
        detail = _text(item.fields.get("dtype"))
    return Symbol(name, _OWNERS[item.owner], item.span, span, detail)


def _text(entry: Entry | None) -> str:
    return "" if entry is None else entry.text or "[...]"


def _assigned(analysis: Analysis, names: Names, number: int) -> Iterator[Symbol]:
    seen: set[str] = set()
    for item in names.parts[number].table.names:
        if item.is_store and item.home == ROOT and item.name not in seen:
            seen.add(item.name)
            reference = names.reference(number, item)
            detail = _stream_type(analysis, reference)
            yield Symbol(item.name, Kind.STREAM, reference.span, reference.span, detail)


def _trimmed(text: str, span: Span) -> Span:
    end = min(span.end, len(text))
    return Span(span.start, max(span.start + len(text[span.start : end].rstrip()), span.start))


# -- folding ---------------------------------------------------------------------------------------------------


def folding(analysis: Analysis) -> list[Folding]:
    """Return what can be folded: statements and brackets over several lines, comments, imports, keys and items."""
    if analysis.kind == "none":
        return []
    source = analysis.source
    found: set[tuple[int, int, bool]] = set()
    for part in names_of(analysis).parts:
        found |= {_lines(source, part, region) for region in _regions(part.table.text)}
    if analysis.kind != "python":
        found |= {(*_yaml_lines(source, span), False) for span in _yaml_regions(source.text)}
    found |= set(_comments(source))
    found |= set(_imports(analysis))
    ordered = sorted(found, key=lambda item: (item[0], -item[1], item[2]))
    starts: dict[int, Folding] = {}
    for start, end, is_comment in ordered:
        if end > start:
            starts.setdefault(start, Folding(start, end, is_comment))  # editors keep one region for each line
    return list(starts.values())


@remembered_text
def _regions(text: str) -> tuple[Span, ...]:
    """Return the statements and bracketed expressions of a text that reach over several lines, as offsets."""
    source = SourceFile("", text)
    found: list[Span] = []
    for statement in parse_suite(text).body:
        for node in ast.walk(statement):
            if isinstance(node, _FOLDED) and (node.end_lineno or 0) > node.lineno:
                first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", ()))])
                end = source.offset_from_utf8((node.end_lineno or 1) - 1, node.end_col_offset or 0)
                found.append(Span(source.line_starts[first - 1], max(end - 1, 0)))
    return tuple(found)


_FOLDED: Final = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.If, ast.While, ast.With, ast.Try, ast.Match,
    ast.Call, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.Constant, ast.JoinedStr,
)  # fmt: skip


def _lines(source: SourceFile, part: TextPart, region: Span) -> tuple[int, int, bool]:
    outer = part.outer(region)
    return source.line_col(outer.start)[0], source.line_col(outer.end)[0], False


def _yaml_regions(text: str) -> Iterator[Span]:
    tree = task_tree(text)
    for entry in tree.entries:
        yield _trimmed(text, entry.span)
    for item in tree.items:
        yield _trimmed(text, item.span)


def _yaml_lines(source: SourceFile, span: Span) -> tuple[int, int]:
    return source.line_col(span.start)[0], source.line_col(span.end)[0]


def _comments(source: SourceFile) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of lines that hold only comments."""
    lines = range(len(source.line_starts))
    for is_comment, run in groupby(lines, lambda line: source.line_text(line).lstrip().startswith("#")):
        numbers = list(run)
        if is_comment and len(numbers) > 1:
            yield numbers[0], numbers[-1], True


def _imports(analysis: Analysis) -> Iterator[tuple[int, int, bool]]:
    """Yield runs of imports at the top level of a Python file."""
    blocks = [(start, text, _is_import(text)) for start, text in analysis.blocks if text.strip()]
    for is_import, run in groupby(blocks, lambda block: block[2]):
        members = list(run)
        if is_import and len(members) > 1:
            start, text = members[-1][0], members[-1][1].rstrip()
            yield analysis.source.line_col(members[0][0])[0], analysis.source.line_col(start + len(text))[0], False
