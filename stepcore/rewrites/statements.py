"""Where a new line may stand: before the statement that holds a place."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepcore.check.rewriting import inner_span, text_before
from stepcore.findings.diagnostics import Edit
from stepcore.rewrites.subject import RewriteSubject
from stepcore.text.span import Span


def lines_before(subject: RewriteSubject, place: Span, lines: list[str]) -> Edit | None:
    """Return the edit that puts statements before the simple one that holds ``place``; None where there is no room."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        return None
    for statement in _simple(tree):
        span = code.span_to_outer(inner_span(code, statement))
        if span.start <= place.start and place.end <= span.end:
            margin = text_before(code, statement)
            if margin.strip():
                return None  # behind a semicolon or colon
            text = "".join(f"{line}{code.newline}{code.indent}{margin}" for line in lines)
            return Edit(Span(span.start, span.start), text)
    return None


def _simple(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
            yield node
