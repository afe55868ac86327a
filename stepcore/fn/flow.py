"""Which statements return, and which paths end without returning."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def own_returns(body: Sequence[ast.stmt]) -> Iterator[ast.Return]:
    """Yield the returns of a body, those of helper functions inside it excepted."""
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement
            return  # what follows is never reached
        if isinstance(statement, ast.If | ast.For):
            yield from own_returns(statement.body)
            yield from own_returns(statement.orelse)


def missing_return(body: Sequence[ast.stmt]) -> ast.stmt | None:
    """Return the statement after which a path ends without a return, or None when every path returns."""
    if not body:
        return None
    for statement in body:
        if isinstance(statement, ast.Return):
            return None
        if (
            isinstance(statement, ast.If)
            and statement.orelse
            and missing_return(statement.body) is None
            and missing_return(statement.orelse) is None
        ):
            return None
    return body[-1]
