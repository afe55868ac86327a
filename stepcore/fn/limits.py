"""What results of an element function cannot exceed, as its body says: it returns nothing but a `torch.clamp`."""

from __future__ import annotations

import ast
from collections.abc import Container
from typing import Any

from stepcore.sizes.dim import Dim, DimError

_SIZE = "_value"  # what the value of a size is called in bodies


def greatest_result(fn: Any, symbols: Container[str]) -> Dim | None:
    """Return what no element of the only result of ``fn`` exceeds; None where its body does not say it.

    That is the upper limit of ``return [torch.clamp(x, low, high)]``, a number or an expression of ``symbols`` with
    ``+``, ``*`` and ``//``. It holds for all ``x`` and ``low``, whatever they are.
    """
    block = getattr(fn, "body", None)
    try:
        statements = ast.parse(block.source.text).body if block is not None else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if len(statements) != 1 or not isinstance(statements[0], ast.Return):  # else a name may mean something else
        return None
    result = statements[0].value
    if isinstance(result, ast.List) and len(result.elts) == 1:
        (result,) = result.elts
    try:
        limit = _limit(result)
        return None if limit is None else _size(limit, symbols)
    except DimError:
        return None


def _limit(call: ast.expr | None) -> ast.expr | None:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "clamp":
        return None
    if not isinstance(call.func.value, ast.Name) or call.func.value.id != "torch":
        return None
    named = [item.value for item in call.keywords if item.arg == "max"]
    return named[0] if named else call.args[2] if len(call.args) == 3 else None


def _size(text: ast.expr, symbols: Container[str]) -> Dim | None:
    """Return a size that is written with numbers that are not negative and sizes."""
    if isinstance(text, ast.Constant):
        return Dim.of(text.value) if type(text.value) is int and text.value >= 0 else None
    if isinstance(text, ast.Name):
        name = text.id.removesuffix(_SIZE)
        return Dim.symbol(name) if name in symbols else None
    if not isinstance(text, ast.BinOp):
        return None
    left, right = _size(text.left, symbols), _size(text.right, symbols)
    if left is None or right is None:
        return None
    if isinstance(text.op, ast.Add):
        return left + right
    if isinstance(text.op, ast.Mult):
        return left * right
    return left // right if isinstance(text.op, ast.FloorDiv) else None
