"""Literals of programs: texts, numbers, and tuples, lists and dictionaries of them."""

from __future__ import annotations

import ast
from typing import Any


class NoLiteral(ValueError):
    """An expression that is no literal."""


def literal_of(node: ast.expr) -> Any:
    """Return what a literal stands for; nothing is run.

    Raises:
        NoLiteral: it is none, or none that Python can hold (a list as a key, say).
    """
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError) as error:
        raise NoLiteral(str(error)) from error
