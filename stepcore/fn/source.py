"""Parsed bodies: the statements of a :class:`CodeBlock`, and the way from a node to a span of the outer file."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache

from stepcore.fn.decl import CodeBlock
from stepcore.span import Embedded, SourceFile, Span

# Deeper nesting overflows Python's own parser or our recursion; nobody writes it by hand.
MAX_BODY_LENGTH = 200_000
MAX_DEPTH = 200


class BodySyntaxError(Exception):
    """The text of a body is no Python. ``span`` counts in the inner text."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[ast.stmt, ...] | BodySyntaxError:
    if len(text) > MAX_BODY_LENGTH:
        return BodySyntaxError(f"this body has more than {MAX_BODY_LENGTH:,} characters", Span(0, 1))
    inner = SourceFile("", text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes in strings: no concern of ours
            module = ast.parse(text)
    except SyntaxError as error:
        return BodySyntaxError(syntax_words(error), _error_span(inner, error))
    except (ValueError, MemoryError, RecursionError) as error:
        message = "nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
        return BodySyntaxError(message, Span(0, min(1, len(text))))
    if _too_deep(module):
        return BodySyntaxError("nested too deeply", Span(0, min(1, len(text))))
    return tuple(module.body)


def syntax_words(error: SyntaxError) -> str:
    """Return what is wrong in CPython's words, unless it is a tab that nobody sees."""
    line = error.text or ""
    if isinstance(error, IndentationError) and "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab indents this line; use spaces, as in the other lines"
    return error.msg


def _too_deep(module: ast.Module) -> bool:
    level: list[ast.AST] = [module]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _error_span(inner: SourceFile, error: SyntaxError) -> Span:
    # SyntaxError counts lines from 1 and columns from 1, in code points.
    start = inner.offset((error.lineno or 1) - 1, max((error.offset or 1) - 1, 0))
    if error.end_lineno and error.end_offset and error.end_offset > 0:
        end = inner.offset(error.end_lineno - 1, error.end_offset - 1)
    else:
        end = start
    start = min(start, max(len(inner.text) - 1, 0))
    return Span(start, max(end, start + 1) if inner.text else start)


def statements(block: CodeBlock) -> tuple[ast.stmt, ...]:
    """Return the statements of ``block``, parsed once per text.

    Raises:
        BodySyntaxError: the text is not Python; its span counts in the inner text.
    """
    parsed = _parse(block.source.text)
    if isinstance(parsed, BodySyntaxError):
        raise parsed
    return parsed


def node_span(code: Embedded, node: ast.AST) -> Span:
    """Return the span of ``node`` (a statement or expression) in the outer file."""
    start_line, start_column = node.lineno - 1, node.col_offset  # type: ignore[attr-defined]
    end_line, end_column = node.end_lineno - 1, node.end_col_offset  # type: ignore[attr-defined]
    offsets = code.direct
    if end_line < len(offsets):  # for nearly all; this is called for every expression
        return Span(offsets[start_line] + start_column, offsets[end_line] + end_column)
    inner = code.inner
    start = inner.offset_from_utf8(start_line, start_column)
    return code.span_to_outer(Span(start, inner.offset_from_utf8(end_line, end_column)))


def dotted(node: ast.AST) -> tuple[str, ...] | None:
    """Return ``("torch", "nn", "GELU")`` for such a chain of names, or None for any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    parts.append(node.id)
    return tuple(reversed(parts))
