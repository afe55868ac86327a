"""Which names a statement at the top level of a file binds, whatever it is nested in."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def bound_names(statement: ast.stmt) -> Iterator[str]:
    """Yield the names of the module that a top-level statement binds; ``*`` for a star import."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield from _imported(statement)
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    else:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Import | ast.ImportFrom):
                yield from _imported(node)
            elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
                yield node.name


def _imported(statement: ast.Import | ast.ImportFrom) -> Iterator[str]:
    for alias in statement.names:
        yield alias.asname or alias.name.partition(".")[0]
