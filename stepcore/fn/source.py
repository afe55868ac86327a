"""Parsed bodies: the statements of a :class:`CodeBlock`, and the way from a node to a span of the outer file."""

from __future__ import annotations

import ast
import re
from collections.abc import Container
from typing import Final

from stepcore.fn.decl import CodeBlock
from stepcore.records import make
from stepcore.system.unwarned import unwarned
from stepcore.text.remembered import remembered_text
from stepcore.text.span import Embedded, SourceFile, Span
from stepcore.text.wording import clipped

# Deeper nesting overflows Python's own parser or our recursion; nobody writes it by hand.
MAX_BODY_LENGTH = 200_000
MAX_DEPTH = 200


class BodySyntaxError(Exception):
    """The text of a body is no Python. ``span`` counts in the inner text."""

    def __init__(self, message: str, span: Span) -> None:
        super().__init__(message)
        self.message = message
        self.span = span


@remembered_text
def _parse(text: str) -> tuple[ast.stmt, ...] | BodySyntaxError:
    if len(text) > MAX_BODY_LENGTH:
        return BodySyntaxError(f"this body has more than {MAX_BODY_LENGTH:,} characters", Span(0, 1))
    inner = SourceFile("", text)
    try:
        with unwarned():  # of invalid escapes in strings: no concern of ours
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
    """Return what is wrong: in plain words where CPython's are about its grammar, and without its numbers of lines.

    A body is a part of a file, so that CPython counts other lines than the reader does.
    """
    line = error.text or ""
    if isinstance(error, IndentationError) and "\t" in line[: len(line) - len(line.lstrip())]:
        return "a tab indents this line; use spaces, as in the other lines"
    if is_fence(line):
        return FENCE
    message = _LINE_NUMBER.sub("", error.msg)
    if message.startswith("invalid character"):
        return f"{message}; write it in plain letters, signs and quotes"
    if message == "invalid syntax" and _PROSE.match(line):
        return "this is no Python; write remarks behind #"
    if message.startswith("expected an indented block"):
        return "what belongs to this line is not indented; indent the next line"
    return _PLAIN.get(message, message)


def syntax_column(error: SyntaxError) -> int:
    """Return the column, from 0, at which ``syntax_words`` are true: prose is none from its first word on."""
    line = error.text or ""
    if error.msg == "invalid syntax" and _PROSE.match(line) and not is_fence(line):
        return len(line) - len(line.lstrip())
    return max((error.offset or 1) - 1, 0)


FENCE: Final = "``` marks code in Markdown, and belongs to no program; remove the mark"
_LINE_NUMBER: Final = re.compile(r" \(detected at line \d+\)| on line \d+(?=$)")
_PROSE: Final = re.compile(
    r"\s*(?!(?:if|for|while|def|return|not|else|elif|lambda|import|from|class|with)\b)[A-Za-z']+ [A-Za-z']+\b"
    r"(?!\s*[=(])"
)
_PLAIN: Final = {
    "invalid syntax": "this is no Python",
    "invalid syntax. Perhaps you forgot a comma?": "is a comma missing here?",
    "invalid decimal literal": "a number and a name meet here; is a bracket or an operator missing between them?",
    "unterminated string literal": "this text has no closing quote",
    "expected ':'": "a colon is missing here",
    "unexpected indent": "indented more than the line before; give both the same indentation",
    "unindent does not match any outer indentation level": (
        "indented like no line before; give it the indentation of its block"
    ),
}


def is_fence(line: str) -> bool:
    """Return whether a line is a mark of Markdown around code, which people copy with an answer."""
    return line.lstrip().startswith("```")


def _too_deep(module: ast.Module) -> bool:
    level: list[ast.AST] = [module]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _error_span(inner: SourceFile, error: SyntaxError) -> Span:
    # SyntaxError counts lines from 1 and columns from 1, in code points.
    start = inner.offset((error.lineno or 1) - 1, syntax_column(error))
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


def statements_of(block: CodeBlock | None) -> tuple[ast.stmt, ...]:
    """Return the statements of ``block``, parsed once per text; none where there is no block, or it is no Python."""
    parsed = () if block is None else _parse(block.source.text)
    return () if isinstance(parsed, BodySyntaxError) else parsed


def is_calculated(node: ast.expr, names: Container[str], constants: type | tuple[type, ...] = object) -> bool:
    """Return whether an expression is made by operators alone of ``names`` and of constants of some types."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, constants)
        case ast.Name(id=name):
            return name in names
        case ast.UnaryOp(operand=operand):
            return is_calculated(operand, names, constants)
        case ast.BinOp(left=left, right=right):
            return is_calculated(left, names, constants) and is_calculated(right, names, constants)
    return False


def binds_inside(text: str) -> bool:
    """Return whether expressions of a body may bind names: by ``:=``, or in comprehensions."""
    return ":=" in text or "for" in text


def node_span(code: Embedded, node: ast.AST) -> Span:
    """Return the span of ``node`` (a statement or expression) in the outer file."""
    offsets, end = code.direct, node.end_lineno  # type: ignore[attr-defined]
    if end < len(offsets):  # for nearly all; this is called for every expression
        first, last = offsets[node.lineno] + node.col_offset, offsets[end] + node.end_col_offset  # type: ignore[attr-defined]
        return make(Span, (first, last))
    inner = code.inner
    start = inner.offset_from_utf8(node.lineno - 1, node.col_offset)  # type: ignore[attr-defined]
    return code.span_to_outer(Span(start, inner.offset_from_utf8(end - 1, node.end_col_offset)))  # type: ignore[attr-defined]


def node_text(code: Embedded, node: ast.AST, length: int = 40) -> str:
    """Return ``node`` as it was written, on one line, with at most ``length`` characters."""
    inner = code.inner
    start = inner.offset_from_utf8(node.lineno - 1, node.col_offset)  # type: ignore[attr-defined]
    end = inner.offset_from_utf8(node.end_lineno - 1, node.end_col_offset)  # type: ignore[attr-defined]
    return clipped(" ".join(code.text[start : min(end, start + 10 * length)].split()), length)


def augmented(node: ast.AugAssign) -> ast.BinOp:
    """Return the operation that ``a += b`` stands for."""
    left = node.target
    if isinstance(left, ast.Name):
        left = ast.copy_location(ast.Name(left.id, ast.Load()), left)
    return ast.copy_location(ast.BinOp(left, node.op, node.value), node)


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
