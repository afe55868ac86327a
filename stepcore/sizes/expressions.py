"""Sizes that are written as Python expressions: names, integers, ``+``, ``-``, ``*`` and ``//``."""

from __future__ import annotations

import ast

from stepcore.sizes.dim import Dim


def dim_of(node: ast.expr, *, signed: bool = False) -> Dim:
    """Return the size that an expression means; ``signed`` lets parts of it be negated.

    Raises:
        ValueError: it holds something else.
        DimError: it divides by zero.
    """
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return Dim.of(value)
        case ast.Name(id=name):
            return Dim.symbol(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if signed:
            return -dim_of(operand, signed=signed)
        case ast.BinOp(left=left, op=operator, right=right):
            first, second = dim_of(left, signed=signed), dim_of(right, signed=signed)
            match operator:
                case ast.Add():
                    return first + second
                case ast.Sub():
                    return first - second
                case ast.Mult():
                    return first * second
                case ast.FloorDiv():
                    return first // second
    raise ValueError("no size")
