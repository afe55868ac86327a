"""Folds whose parts may be folded apart: sums, products, greatest and least values, read off the function's body."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.fn.source import BodySyntaxError, statements
from stepcore.ops.base import FnLike
from stepcore.records import Record

_NEUTRAL: Final = {"+": 0.0, "*": 1.0}
_OPERATORS: Final = {ast.Add: "+", ast.Mult: "*"}
_CALLS: Final = ("torch.maximum", "torch.minimum")  # of which any value may take part twice


class JoinedFold(Record):
    """A fold of one component: ``state`` joined by ``operator`` with something that does not read it.

    ``is_plain``: with the element itself, so that the same function folds results.
    """

    operator: str
    is_plain: bool

    def joined(self, count: int) -> str:
        """Return the expression that joins ``count`` results."""
        parts = [f"input[{number}]" for number in range(count)]
        if self.operator in _NEUTRAL:
            return f" {self.operator} ".join(parts)
        return reduce(lambda one, other: f"{self.operator}({one}, {other})", parts)


def joined_fold(fn: FnLike | None) -> JoinedFold | None:
    """Return what a fold does; None where results of parts of its elements cannot be folded to the same."""
    if not isinstance(fn, FnDecl) or fn.init is None or len(fn.init) != 1 or len(fn.body.arguments) != 2:
        return None
    try:
        body = statements(fn.body)
    except BodySyntaxError:
        return None
    match body:
        case [ast.Return(value=ast.List(elts=[ast.BinOp(left=left, op=op, right=right)]))] if type(op) in _OPERATORS:
            operator = _OPERATORS[type(op)]
        case [ast.Return(value=ast.List(elts=[ast.Call(func=called, args=[left, right], keywords=[])]))]:
            operator = ast.unparse(called)
        case _:
            return None
    if operator not in _CALLS and fn.init[0] != _NEUTRAL.get(operator):
        return None
    state, element = fn.body.arguments
    for one, other in ((left, right), (right, left)):
        if ast.unparse(one) == f"{state}[0]" and state not in _names(other):
            return JoinedFold(operator, fn.input == fn.output and ast.unparse(other) == f"{element}[0]")
    return None


def _names(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
