"""Rewriting code of task files by its syntax tree; text that needs no change stays as it was written."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import field

from stepcore.findings.diagnostics import Edit, apply_edits
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
