"""Rewriting code of task files by its syntax tree; text that needs no change stays as it was written."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field

from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.fn.aliases import bound_modules
from stepcore.fn.decl import CodeBlock
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.records import Record
from stepcore.text.span import Embedded, SourceFile, Span


class ConvertError(ValueError):
    """A file has something that the other form cannot say; the message tells what and what to do."""


class BoundNames(Record):
    """The names that a piece of code reads and those that it binds."""

    loaded: frozenset[str]
    stored: frozenset[str]


class CodeNames(Record):
    """How :func:`rewrite` changes code.

    ``tensors`` are read by name instead of through ``input_data``; ``renamed`` are local names that get another one;
    ``stored`` are names that become ``input_data['name']`` (by the name that they have there).
    """

    tensors: frozenset[str] = frozenset()
    renamed: Mapping[str, str] = field(default_factory=dict)
    stored: Mapping[str, str] = field(default_factory=dict)


def parse_code(text: str) -> tuple[ast.stmt, ...]:
    """Parse a suite.

    Raises:
        ConvertError: it is no Python.
    """
    try:
        return statements(CodeBlock(Embedded.whole(text)))
    except BodySyntaxError as error:
        raise ConvertError(f"code that does not parse cannot be converted: {error.message}") from error


def bound_names(text: str) -> BoundNames:
    """Return the names in ``text``, those inside comprehensions and helper functions included."""
    loaded: set[str] = set()
    stored: set[str] = set()
    for statement in parse_code(text):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
            elif isinstance(node, ast.FunctionDef):
                stored.add(node.name)
    return BoundNames(frozenset(loaded), frozenset(stored))


def rewrite(text: str, names: CodeNames) -> str:
    """Return ``text`` with its names changed as ``names`` says; ``ctx[M]`` becomes ``M_value``."""
    source = SourceFile("", text)
    edits = [edit for statement in parse_code(text) for edit in _edits(statement, names, source)]
    return apply_edits(text, edits)


def without_aliases(text: str, modules: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return a suite in which modules are written out, and the names that stood for them in it.

    ``modules`` are names that stand for modules around it. The statements that say so are left out: generated files
    name ``torch.nn.functional.relu`` in full, and import ``torch`` and ``math`` alone.

    Raises:
        ConvertError: it does not parse, or an f-string reads such a name.
    """
    known, edits = dict(modules), list[Edit]()
    source = SourceFile("", text)
    for statement in parse_code(text):
        if found := bound_modules(statement, known):
            known.update(found)
            edits.append(Edit(_whole_line(text, node_span(source, statement)), ""))
    renamed = {name: full for name, full in known.items() if name != full}
    names = bound_names(text)
    kept = apply_edits(text, edits) if edits else text
    if not renamed.keys() & names.loaded:
        return kept, known
    return rewrite(kept, CodeNames(renamed=renamed)), known


def _whole_line(text: str, span: Span) -> Span:
    """Return the span of a statement with what parts it from the next one: its line end, or a semicolon."""
    end = span.end
    while end < len(text) and text[end] in " \t":
        end += 1
    if end < len(text) and text[end] == ";":
        end += 1
        while end < len(text) and text[end] in " \t":
            end += 1
        return Span(span.start, end)
    line = text.rfind("\n", 0, span.start) + 1
    if text[line : span.start].strip():  # behind a semicolon, which may end a line
        return span
    if end < len(text) and text[end] == "#":
        return span
    return Span(span.start, min(end + 1, len(text)) if end < len(text) and text[end] == "\n" else end)


def _edits(node: ast.AST, names: CodeNames, source: SourceFile) -> Iterator[Edit]:
    replacement = _replacement(node, names)
    if replacement is not None:
        yield Edit(node_span(source, node), replacement)
        return
    if isinstance(node, ast.JoinedStr):  # positions inside are not reliable before Python 3.12
        if any(_replacement(inner, names) is not None for inner in ast.walk(node)):
            raise ConvertError("an f-string reads a name that is spelled differently in the other form; take it out")
        return
    for child in ast.iter_child_nodes(node):
        yield from _edits(child, names, source)


def _replacement(node: ast.AST, names: CodeNames) -> str | None:
    match node:
        case ast.Subscript(value=ast.Name(id="input_data"), slice=ast.Constant(value=str(name))):
            return name if name in names.tensors else None
        case ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Name(id=name), ctx=ast.Load()):
            return f"{name}_value"
        case ast.Name(id=name) if name in names.renamed:
            return names.renamed[name]
        case ast.Name(id=name, ctx=ast.Load()) if name in names.stored:
            return f"input_data['{names.stored[name]}']"
    return None


def node_span(source: SourceFile, node: ast.AST) -> Span:
    """Return where an expression or statement stands in ``source``."""
    assert isinstance(node, ast.expr | ast.stmt)
    start = source.offset_from_utf8(node.lineno - 1, node.col_offset)
    end = source.offset_from_utf8((node.end_lineno or node.lineno) - 1, node.end_col_offset or 0)
    return Span(start, end)


def kept_name(output: str, index: int, count: int) -> str:
    """Return the name under which a reference keeps the value of component ``index`` of ``output``."""
    return output if count == 1 else f"{output}_{index}"
