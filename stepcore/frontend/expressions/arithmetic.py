"""Arithmetic of numbers, sizes and sequences."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepcore.findings.diagnostics import Fix
from stepcore.frontend import advice
from stepcore.frontend.bounds import MAX_BITS, bounded
from stepcore.frontend.expressions.conditions import decide
from stepcore.frontend.expressions.texts import MAX_TEXT
from stepcore.frontend.numbers import number_of
from stepcore.frontend.sequences import fits
from stepcore.frontend.values import UNKNOWN, TensorValue, Value, is_stream
from stepcore.sizes.dim import Dim, DimError

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def evaluate_binary(el: Elaboration, node: ast.BinOp) -> Value:
    """Return what an operator between two values gives."""
    return binary(el, node, el.evaluate(node.left), node.op, el.evaluate(node.right))


def binary(el: Elaboration, node: ast.AST, left: Value, op: ast.operator, right: Value) -> Value:
    """Return ``left op right`` on numbers, sizes, lists and tuples."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        from stepcore.frontend import tensors  # only scripts have any

        return tensors.combined(left, right)
    sequences = (list, tuple)
    if isinstance(op, ast.Add):
        if isinstance(left, list) and isinstance(right, list):
            return _joined(el, node, left, right)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return _joined(el, node, left, right)
    if isinstance(op, ast.Mult):
        for sequence, times in ((left, right), (right, left)):
            if isinstance(sequence, sequences) and isinstance(times, int | Dim):
                return _repeat(el, node, sequence, times)
    compute = _ARITHMETIC.get(type(op))
    if compute is not None and _is_number(left) and _is_number(right):
        return _compute(el, node, compute, left, op, right)
    el.report(
        "STEP224", node, *_not_combined(el, node, left, op, right), fix=_whole_division(el, node, left, op, right)
    )
    el.graph.complete = False
    return UNKNOWN


_OF_BITS = (ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)


def _not_combined(el: Elaboration, node: ast.AST, left: Value, op: ast.operator, right: Value) -> tuple[str, str]:
    """Return why two operands do not go together, and what does instead."""
    sign = _SIGNS[type(op)]
    parts = _operands(node)
    shown = [el.text(part) for part in parts]
    whole_text = f"{shown[0]} {sign} {shown[1]}"
    streams = [text for text, value in zip(shown, (left, right), strict=True) if is_stream(value)]
    if streams:
        what = "streams" if len(streams) == 2 else "a stream"
        return f"{whole_text} computes with {what}", advice.of_arithmetic(op, streams, el.operator)
    if isinstance(op, ast.Div) and _is_number(left) and _is_number(right):
        return f"{whole_text} may leave a remainder, and sizes and counts are whole numbers", "divide with //"
    if isinstance(op, _OF_BITS) and _is_number(left) and _is_number(right):
        return f"{whole_text} computes with bits, which sizes and counts have none of", "use +, -, *, //, % or **"
    values = (left, right)
    kinds = " and ".join(el.what(part, value) for part, value in zip(parts, values, strict=True))
    return f"{whole_text} cannot be computed: {kinds}", "use numbers and sizes, two lists, or two tuples"


def _operands(node: ast.AST) -> tuple[ast.expr, ast.expr]:
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    assert isinstance(node, ast.BinOp)
    return node.left, node.right


def _whole_division(el: Elaboration, node: ast.AST, left: Value, op: ast.operator, right: Value) -> Fix | None:
    if not (isinstance(node, ast.BinOp) and isinstance(op, ast.Div) and _is_number(left) and _is_number(right)):
        return None
    shown = el.text(node.left, MAX_TEXT), el.text(node.right, MAX_TEXT)
    return el.replacing(node, f"{shown[0]} // {shown[1]}")


def _joined(el: Elaboration, node: ast.AST, left: Any, right: Any) -> Value:
    if not fits(el, node, len(left) + len(right)):
        return UNKNOWN
    el.charge(len(left) + len(right))
    return left + right


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float | Dim)


def _compute(
    el: Elaboration, node: ast.AST, compute: Callable[[Any, Any], Any], left: Value, op: ast.operator, right: Value
) -> Value:
    if isinstance(op, ast.Pow) and _is_large_power(left, right):
        if isinstance(right, Dim):
            el.report("STEP224", node, f"the exponent {right} is a size", "an exponent is an integer")
        else:
            el.report("STEP221", node, "this power is too large", "write a smaller number")
        return UNKNOWN
    if isinstance(op, ast.Mod | ast.Pow) and (isinstance(left, Dim) or isinstance(right, Dim)):
        text = f"{el.text(node)} is no expression of sizes"
        way_out = "sizes are added, subtracted, multiplied, and divided with //"
        if right == 2 and isinstance(op, ast.Pow):
            way_out = f"write {left} * {left}"
        el.report("STEP224", node, text, way_out)
        return UNKNOWN
    if {type(left), type(right)} == {Dim, float}:
        text = f"{el.text(node)} mixes a size with a fraction, and sizes are whole numbers"
        el.report("STEP224", node, text, "multiply by integers, and divide with //")
        return UNKNOWN
    if isinstance(left, Dim) and isinstance(right, Dim):
        el.charge(len(left.terms) * len(right.terms))
    try:
        value = compute(left, right)
    except ZeroDivisionError:
        el.report("STEP224", node, f"{el.text(node)} divides by zero", "change the divisor")
        return UNKNOWN
    except (DimError, OverflowError, TypeError) as error:
        reason = str(error) if isinstance(error, DimError) else "the number is too large"
        el.report("STEP224", node, f"{el.text(node)} cannot be computed: {reason}", "change the expression")
        return UNKNOWN
    if isinstance(value, complex):
        el.report("STEP224", node, f"{el.text(node)} is no real number", "change the expression")
        return UNKNOWN
    return bounded(el, node, value)


def _is_large_power(left: Value, right: Value) -> bool:
    if isinstance(right, Dim) or abs(right) > MAX_BITS:
        return True
    return isinstance(left, int) and left.bit_length() * abs(right) > 4 * MAX_BITS


def _repeat(el: Elaboration, node: ast.AST, sequence: Any, given: int | Dim) -> Value:
    times: int | None = given if isinstance(given, int) else None
    if isinstance(given, Dim):
        written = next(part for part in _operands(node)[::-1] if not isinstance(part, ast.List | ast.Tuple))
        times = number_of(el, written, given, "a list that is repeated")
    if times is None:
        return UNKNOWN
    if not fits(el, node, len(sequence) * max(times, 0)):
        return UNKNOWN
    el.charge(len(sequence) * max(times, 0))
    return sequence * times


def evaluate_unary(el: Elaboration, node: ast.UnaryOp) -> Value:
    """Return what a sign, ``not`` or ``~`` gives."""
    value = el.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        decided = decide(el, node.operand, value)
        return UNKNOWN if decided is None else not decided
    if isinstance(node.op, ast.USub | ast.UAdd) and _is_number(value):
        return -value if isinstance(node.op, ast.USub) else +value
    if value is not UNKNOWN:
        sign = {ast.USub: "-", ast.UAdd: "+"}.get(type(node.op), "~")
        text = f"{el.what(node.operand, value)}, and {sign} takes numbers and sizes"
        way_out = advice.of_arithmetic(node.op, [el.text(node.operand)], el.operator) if is_stream(value) else ""
        el.report("STEP224", node, text, way_out or "leave it out")
        el.graph.complete = False
    return UNKNOWN
